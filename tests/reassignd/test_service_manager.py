"""Messages to systemd, received by a socket as systemd has it."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.tasks import cancel, spawn
from reassignd.service_manager import ServiceManager


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.settimeout(10)
        receiver.bind(str(tmp_path / "notify"))
        yield receiver


def manager(systemd: socket.socket, **more: str) -> ServiceManager:
    return ServiceManager({"NOTIFY_SOCKET": systemd.getsockname(), **more})


def test_systemd_is_told_when_requests_are_served_and_when_the_process_ends(systemd: socket.socket) -> None:
    manager(systemd).ready()
    assert systemd.recv(100) == b"READY=1\nSTATUS=serving"
    manager(systemd).stopping()
    assert systemd.recv(100).startswith(b"STOPPING=1\n")


def test_a_status_is_one_line(systemd: socket.socket) -> None:
    manager(systemd).status("waiting\nREADY=1")
    assert systemd.recv(100) == b"STATUS=waiting READY=1"


async def test_signs_of_life_are_sent_before_the_watchdog_s_time_is_over(systemd: socket.socket) -> None:
    told = manager(systemd, WATCHDOG_USEC="20000")
    assert told.watchdog_seconds == 0.02
    task = spawn(told.stay_alive(), "alive")
    for _ in range(3):
        assert await asyncio.to_thread(systemd.recv, 100) == b"WATCHDOG=1"
    await cancel(task)


async def test_without_a_watchdog_there_are_no_signs_of_life(systemd: socket.socket) -> None:
    await manager(systemd).stay_alive()
    systemd.setblocking(False)
    with pytest.raises(BlockingIOError):
        systemd.recv(100)


def test_a_socket_in_the_abstract_namespace_is_reached() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.settimeout(10)
        receiver.bind("\0reassignd-test-notify")
        ServiceManager({"NOTIFY_SOCKET": "@reassignd-test-notify"}).ready()
        assert receiver.recv(100).startswith(b"READY=1")


def test_without_systemd_and_with_a_lost_socket_nothing_happens(tmp_path: Path) -> None:
    ServiceManager({}).ready()
    ServiceManager({"NOTIFY_SOCKET": str(tmp_path / "gone")}).ready()
