"""Which user holds the other end of a loopback connection."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from server.http.peer_user import supported, user_of

pytestmark = pytest.mark.skipif(not supported(), reason="this system does not tell it")

AS_NOBODY = """
import os, socket, sys
os.setgid(65534); os.setuid(65534)
with socket.socket() as connection:
    connection.connect(("127.0.0.1", int(sys.argv[1])))
    sys.stdin.read()
"""


@pytest.fixture(params=["127.0.0.1", "::1"])
def listening(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    try:
        server = socket.create_server((request.param, 0), family=family)
    except OSError:
        pytest.skip("no IPv6 here")
    with server:
        yield server


def test_a_connection_of_our_own_is_ours(listening: socket.socket) -> None:
    with socket.create_connection(listening.getsockname()[:2]):
        accepted, _ = listening.accept()
        with accepted:
            assert user_of(accepted) == os.geteuid()


def test_one_that_was_closed_is_nobody_s(listening: socket.socket) -> None:
    socket.create_connection(listening.getsockname()[:2]).close()
    accepted, _ = listening.accept()
    with accepted:
        accepted.recv(1)
        assert user_of(accepted) is None


def test_a_half_closed_one_is_still_ours(listening: socket.socket) -> None:
    with socket.create_connection(listening.getsockname()[:2]) as client:
        client.shutdown(socket.SHUT_WR)
        accepted, _ = listening.accept()
        with accepted:
            accepted.recv(1)
            assert user_of(accepted) == os.geteuid()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_connection_of_somebody_else_is_theirs() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = [sys.executable, "-c", AS_NOBODY, str(server.getsockname()[1])]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:  # noqa: S603 (ours)
            accepted, _ = server.accept()
            with accepted:
                assert user_of(accepted) == 65534
            process.communicate()


def test_a_unix_socket_and_another_system_tell_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = socket.socketpair()
    with one, other:
        assert user_of(one) is None
    monkeypatch.delattr(socket, "AF_NETLINK")
    assert not supported()
