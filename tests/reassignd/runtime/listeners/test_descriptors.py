"""The shares of the limit of open files."""

from typing import Any

import pytest

from reassignd.config.config import Assignment, Settings, resolve
from reassignd.runtime.listeners import descriptors
from reassignd.runtime.listeners.descriptors import share


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

    monkeypatch.setattr(descriptors, "allow_files", allow)
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
