import resource
import socket

import pytest

from common.address import Address
from reassignd.errors import CommandError
from reassignd.runtime.listeners.sockets import allow_files, bind


def test_port_0_takes_a_free_port() -> None:
    with bind(Address("127.0.0.1", 0), "listener") as listening:
        assert listening.getsockname()[1] > 0


def test_an_ipv6_address_is_bound_as_such() -> None:
    with bind(Address("::1", 0), "listener") as listening:
        assert listening.family is socket.AF_INET6


def test_a_port_in_use_is_reported_with_its_setting() -> None:
    with bind(Address("127.0.0.1", 0), "listener") as first:
        port = first.getsockname()[1]
        with pytest.raises(CommandError) as refused:
            bind(Address("127.0.0.1", port), "listener")
    reason = f"port {port} is in use; change `listener` (--listener HOST:PORT)"
    assert str(refused.value) == f"cannot listen on 127.0.0.1:{port}: {reason}"


def test_an_unknown_host_is_reported() -> None:
    with pytest.raises(CommandError, match="the host 'no host' is not known"):
        bind(Address("no host", 0), "listener")


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(CommandError, match="cannot assign requested address"):
        bind(Address("192.0.2.1", 0), "listener")


class OpenFiles:
    """The system's limit of open files, soft and hard."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, soft: int, hard: int) -> None:
        self.limits = (soft, hard)
        monkeypatch.setattr(resource, "getrlimit", lambda _: self.limits)
        monkeypatch.setattr(resource, "setrlimit", self.set)

    def set(self, _: int, limits: tuple[int, int]) -> None:
        self.limits = limits


INFINITE = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((1024, 5000), (2000, 5000)),
        ((1024, INFINITE), (2000, INFINITE)),
        ((3000, 5000), (3000, 5000)),
        ((INFINITE, INFINITE), (INFINITE, INFINITE)),
    ],
)
def test_a_low_limit_of_open_files_is_raised(
    before: tuple[int, int], after: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = OpenFiles(monkeypatch, *before)
    assert allow_files(2000) == 2000
    assert files.limits == after


def test_a_system_may_allow_fewer_files(monkeypatch: pytest.MonkeyPatch) -> None:
    files = OpenFiles(monkeypatch, 1024, 1500)
    assert allow_files(2000) == 1500
    assert files.limits == (1500, 1500)
