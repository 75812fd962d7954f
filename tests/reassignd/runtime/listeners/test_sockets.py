"""The shares of the limit of open files."""

import resource
import socket
from typing import Any

import pytest

from common.address import Address
from reassignd.config.errors import CommandError
from reassignd.config.settings import Settings
from reassignd.config.sources import Assignment, resolve
from reassignd.runtime.listeners import sockets
from reassignd.runtime.listeners.sockets import allow_files, bind, share


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


def gateway(**values: str) -> Settings:
    given = {
        "backend": "upstream",
        "upstream.bootstrap.servers": "kafka:9092",
        "gateway.ports": "9",
        "max.connections": "1000",
        "http.max.connections": "100",
        **values,
    }
    return resolve(Assignment(key, value, "test") for key, value in given.items())


def allowed(monkeypatch: pytest.MonkeyPatch, most: int) -> list[int]:
    """The limit that the system allows, and the limits that are requested."""
    wanted: list[int] = []

    def allow(files: int) -> int:
        wanted.append(files)
        return min(files, most)

    monkeypatch.setattr(sockets, "allow_files", allow)
    return wanted


def shared(settings: Settings) -> Any:
    found = share(settings)
    return found.max_connections, found.http_max_connections


def test_a_relayed_client_needs_two_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = allowed(monkeypatch, 10_000)
    assert shared(gateway()) == (1000, 100)
    assert wanted == [100 + 3 * 10 + 2 * 1000 + 100]


def test_a_client_of_the_embedded_cluster_needs_one_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = allowed(monkeypatch, 10_000)
    share(gateway(backend="embedded", **{"embedded.brokers": "10"}))
    assert wanted == [100 + 3 * 10 + 1000 + 100]


def test_too_few_descriptors_reduce_the_connections(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    allowed(monkeypatch, 1030)
    clients, http = shared(gateway())
    assert (clients, http) == (400, 100)
    assert 130 + 2 * clients + http <= 1030
    assert "1030 open files are allowed, 2230 may be needed: 400 connections" in caplog.text


def test_a_minimum_of_connections_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed(monkeypatch, 64)
    assert shared(gateway()) == (10, 10)


def test_other_settings_are_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed(monkeypatch, 64)
    assert share(gateway(**{"gateway.ports": "7"})).gateway_ports == 7
