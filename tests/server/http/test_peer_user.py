"""The local user at the other end of a loopback connection."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from server.http.peer_user import supported, user_of

pytestmark = pytest.mark.skipif(not supported(), reason="not supported by this system")

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


def test_a_connection_of_this_process_has_its_user(listening: socket.socket) -> None:
    with socket.create_connection(listening.getsockname()[:2]):
        accepted, _ = listening.accept()
        with accepted:
            assert user_of(accepted) == os.geteuid()


def test_a_closed_connection_has_no_user(listening: socket.socket) -> None:
    socket.create_connection(listening.getsockname()[:2]).close()
    accepted, _ = listening.accept()
    with accepted:
        accepted.recv(1)
        assert user_of(accepted) is None


def test_a_half_closed_connection_keeps_its_user(listening: socket.socket) -> None:
    with socket.create_connection(listening.getsockname()[:2]) as client:
        client.shutdown(socket.SHUT_WR)
        accepted, _ = listening.accept()
        with accepted:
            accepted.recv(1)
            assert user_of(accepted) == os.geteuid()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_connection_of_another_user_has_that_user() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = [sys.executable, "-c", AS_NOBODY, str(server.getsockname()[1])]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:  # noqa: S603 (ours)
            accepted, _ = server.accept()
            with accepted:
                assert user_of(accepted) == 65534
            process.communicate()


def test_the_user_of_a_unix_socket_is_known() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert user_of(one) == os.geteuid()


def test_other_systems_do_not_return_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "AF_NETLINK")
    assert not supported()
