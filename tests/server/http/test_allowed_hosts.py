"""The names of this machine. What is served under which name is in test_same_site.py."""

import pytest

from server.http.allowed_hosts import is_local


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_loopback_is_local(host: str) -> None:
    assert is_local(host)


@pytest.mark.parametrize("host", ["::", "10.0.0.1", "kafka.example", ""])
def test_other_hosts_are_not_local(host: str) -> None:
    assert not is_local(host)
