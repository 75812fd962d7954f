"""The listener of a ZooKeeper-mode controller: its registration, and the brokers of its connections.

See tests/zookeeper too.
"""

import logging
from pathlib import Path

import pytest

from backends.zookeeper.znodes.formats import Endpoint, Registration
from protocol.messages.describe_cluster_request import DescribeClusterRequest
from reassignd.config.errors import CommandError
from reassignd.config.settings import Settings
from reassignd.config.sources import Assignment, resolve
from reassignd.runtime.listeners.zookeeper import ControllerListeners
from server.counters import Counters
from tests.server.gateway.sockets import FakeKafka, connect

CERTIFICATE = str(Path(__file__).parents[3] / "reassignd" / "tls" / "server.pem")
PROTOCOL, TLS = "zookeeper.listener.security.protocol", "listener.tls.certificate.file"
MORE = "zookeeper.listeners"


def settings(**values: str) -> Settings:
    given = {"listener": "127.0.0.1:0", "node.id": "9", **values}
    return resolve(Assignment(name, value, "test") for name, value in given.items())


def build_listeners(**values: str) -> ControllerListeners:
    return ControllerListeners(settings(**values), {}, Counters())


def at(port: int, protocol: str = "PLAINTEXT") -> Registration:
    return Registration((Endpoint("PLAINTEXT", protocol, "127.0.0.1", port),))


@pytest.mark.parametrize(
    ("given", "registered"),
    [
        ({}, "PLAINTEXT"),
        ({TLS: CERTIFICATE}, "SSL"),
        ({PROTOCOL: "sasl_plaintext"}, "SASL_PLAINTEXT"),
        ({PROTOCOL: "SASL_SSL", TLS: CERTIFICATE}, "SASL_SSL"),
    ],
)
async def test_the_registration_has_the_protocol_of_the_listener(
    given: dict[str, str], registered: str
) -> None:
    result = build_listeners(**given, **{"zookeeper.listener.name": "INTERNAL", "advertised.host": "gate"})
    [endpoint] = (await result.open()).endpoints
    await result.close(0)
    assert endpoint._replace(port=1) == Endpoint("INTERNAL", registered, "gate", 1)


async def test_the_registration_has_all_listeners_with_that_of_brokers_first() -> None:
    more = "CLIENT:SASL_SSL://localhost:0,EXTERNAL:plaintext://[::1]:0"
    result = build_listeners(**{MORE: more, TLS: CERTIFICATE, PROTOCOL: "SASL_PLAINTEXT"})
    endpoints = (await result.open()).endpoints
    await result.close(0)
    assert [each[:3] for each in endpoints] == [
        ("PLAINTEXT", "SASL_PLAINTEXT", "127.0.0.1"),
        ("CLIENT", "SASL_SSL", "localhost"),
        ("EXTERNAL", "PLAINTEXT", "::1"),
    ]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({PROTOCOL: "SASL_SSL"}, "listener PLAINTEXT is SASL_SSL, which needs listener.tls.certificate.file"),
        (
            {PROTOCOL: "PLAINTEXT", TLS: CERTIFICATE},
            "listener.tls.certificate.file is set, but no listener is",
        ),
        ({MORE: "PLAINTEXT:PLAINTEXT://h:1"}, "zookeeper.listeners: there are two listeners PLAINTEXT"),
        (
            {MORE: "X:PLAINTEXT://0.0.0.0:1"},
            "listener X: clients cannot connect to 0.0.0.0; set advertised.host",
        ),
    ],
)
def test_contradicting_settings_are_refused(given: dict[str, str], problem: str) -> None:
    with pytest.raises(CommandError, match=f"^{problem}"):
        build_listeners(**given)


async def test_a_connection_is_relayed_to_a_broker() -> None:
    result = build_listeners()
    [endpoint] = (await result.open()).endpoints
    async with FakeKafka() as kafka:
        result.brokers_changed({1: at(kafka.address.port)})
        talk = await connect(kafka.address._replace(port=endpoint.port))
        assert (await talk.ask(DescribeClusterRequest(), 0)).cluster_id == str(kafka.address.port)
        await talk.close()
    await result.close(0)


def test_a_broker_without_a_matching_listener_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    result = build_listeners()
    for _ in range(2):
        result.brokers_changed({1: at(1, "SSL"), 2: at(2)})
    [line] = caplog.messages
    assert line.startswith("broker 1 has no listener for PLAINTEXT: ")
    result.brokers_changed({})
    result.brokers_changed({1: at(1, "SSL")})
    assert len(caplog.messages) == 2
