"""The sources of settings and their precedence: files, environment variables and options.

REASSIGND_LOG_LEVEL is `log.level`. Other variables with the prefix are left alone: the commands have some
(REASSIGND_URL), and Kubernetes makes some for a service named `reassignd` (REASSIGND_SERVICE_HOST).
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from common.address import Address
from controller.scheduling.limits import ALIASES
from reassignd.config import properties
from reassignd.config.errors import ConfigError
from reassignd.config.keys import LISTENER_KEYS, TOPIC
from reassignd.config.setting_types import WILDCARDS, SocketPath
from reassignd.config.settings import (
    EMBEDDED,
    INITIAL,
    KEYS,
    UPSTREAM,
    ZOOKEEPER,
    Settings,
    checked,
    config_of,
    key_and_option,
)


class Assignment(NamedTuple):
    """A value for a key. `source` is the option, or file and line, for messages."""

    key: str
    value: str
    source: str


def read_file(path: Path) -> Iterator[Assignment]:
    """Yield the assignments of a `.properties` file.

    Raises ConfigError if the file cannot be read or has half characters.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"cannot read {path}: {reason}") from error
    for key, value, line in properties.parse(text, path):
        yield Assignment(key, value, f"{path}:{line}")


def parse_override(text: str) -> Assignment:
    """Parse the value of `--override`. Raises ConfigError if it has no equals sign."""
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--override {text}: expected key=value")
    return Assignment(key.strip(), value.strip(), "--override")


PREFIX = "REASSIGND_"


def variable(key: str) -> str:
    """Return the variable of the key."""
    return PREFIX + key.upper().replace(".", "_")


VARIABLES = {variable(key): key for key in (*KEYS, *INITIAL, *ALIASES)}


def read_environment(environment: Mapping[str, str]) -> Iterator[Assignment]:
    """Yield the assignments of variables, in the order of their names."""
    for name in sorted(environment.keys() & VARIABLES.keys()):
        yield Assignment(VARIABLES[name], environment[name], f"environment variable {name}")


def resolve(assignments: Iterable[Assignment]) -> Settings:
    """Return the settings; a later assignment of a key replaces an earlier one.

    Raises ConfigError, which names the source, for an unknown key or an invalid value.
    """
    settings = Settings({config_of(each.key): _parse(each) for each in assignments})
    if settings.backend == UPSTREAM and not settings.upstream_bootstrap_servers:
        raise ConfigError(f"the upstream backend needs {key_and_option('upstream.bootstrap.servers')}")
    if settings.backend == UPSTREAM and settings.listener in settings.upstream_bootstrap_servers:
        raise ConfigError(
            f"upstream.bootstrap.servers: {settings.listener} is the `listener` of reassignd itself; set the"
            " addresses of Kafka's brokers"
        )
    _check_instances(settings)
    if settings.backend != ZOOKEEPER:
        _check_ports(settings)
    foreign = [] if settings.backend == EMBEDDED else sorted(LISTENER_KEYS.keys() & settings.values.keys())
    if foreign:
        raise ConfigError(
            f"{foreign[0]} is for the embedded cluster only; with backend={settings.backend}, Kafka's"
            " brokers authenticate and authorize clients"
        )
    first, ports = settings.listener.port, settings.ports
    if first and first + ports - 1 > 65535:
        raise ConfigError(f"listener: {ports} ports from {first} on exceed 65535")
    if settings.listener.host in WILDCARDS and not settings.advertised_host:
        raise ConfigError(
            f"listener: clients cannot connect to {settings.listener.host}; set advertised.host too"
        )
    return settings


def _check_instances(settings: Settings) -> None:
    if settings.state != TOPIC:
        return
    if settings.backend != UPSTREAM:
        raise ConfigError(f"state=topic needs the upstream backend, not backend={settings.backend}")
    if settings.gateway_peer_listener.host in WILDCARDS and not settings.gateway_peer_host:
        raise ConfigError(
            "gateway.peer.listener: other instances cannot connect to"
            f" {settings.gateway_peer_listener.host}; set gateway.peer.host too"
        )


def _check_ports(settings: Settings) -> None:
    """Refuse two listeners on one port.

    The ports of brokers are reserved, also while there are fewer brokers.
    """
    spans = [("listener", settings.listener, settings.ports)]
    if settings.state == TOPIC:
        spans.append(("gateway.peer.listener", settings.gateway_peer_listener, 1))
    if not isinstance(settings.http_listener, SocketPath):
        spans.append(("http.listener", settings.http_listener, 1))
    for (name, first, ports), (other_name, other, _) in combinations(spans, 2):
        if first.port and other.port and 0 <= other.port - first.port < ports and _same_host(first, other):
            to = f" to {first.port + ports - 1}, one for each broker" if ports > 1 else ""
            fewer = " or a lower gateway.ports" if ports > 1 and settings.backend == UPSTREAM else ""
            raise ConfigError(
                f"{other_name}: {other} is a port of `{name}`, which has {first}{to}; choose another"
                f" port{fewer}"
            )


def _same_host(one: Address, other: Address) -> bool:
    return one.host == other.host or not {one.host, other.host}.isdisjoint(WILDCARDS)


def _parse(assignment: Assignment) -> object:
    name, value, source = assignment
    key, config = KEYS.get(name), config_of(name)
    if config in INITIAL:
        try:
            return checked(config, value)
        except ValueError as error:
            raise ConfigError(f"{source}: '{value}' is not valid for {name}: expected {error}") from error
    if key is None:
        near = difflib.get_close_matches(name, [*KEYS, *INITIAL], n=1)
        hint = f"the nearest known one is '{near[0]}'" if near else "see docs/configuration.md"
        raise ConfigError(f"{source}: unknown key '{name}'; {hint}")
    try:
        return key.kind.parse(value)
    except ValueError as error:
        raise ConfigError(
            f"{source}: '{value}' is not valid for {name}: expected {key.kind.valid}"
        ) from error
