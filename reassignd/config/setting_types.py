"""Types of settings, and the descriptor that declares a setting."""

import re
from collections.abc import Callable
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar, overload

from common.address import Address

T = TypeVar("T")


class SettingType(NamedTuple, Generic[T]):
    """A type of values.

    `parse` raises ValueError for an invalid text; `valid` describes valid ones; `metavar` is for help.
    """

    metavar: str
    valid: str
    parse: Callable[[str], T]


def integer(low: int, high: int) -> SettingType[int]:
    """Return the type of integers from `low` to `high`."""

    def parse(text: str) -> int:
        number = int(text)
        if not low <= number <= high:
            raise ValueError(text)
        return number

    return SettingType("N", f"an integer in [{low}, {high}]", parse)


def choice(*names: str) -> SettingType[str]:
    """Return the type of these words, case-insensitive."""
    words = {name.lower(): name for name in names}

    def parse(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(text)
        return words[text.lower()]

    return SettingType("|".join(names), f"one of {', '.join(names)}", parse)


def optional(kind: SettingType[str]) -> SettingType[str]:
    """Return the type with the empty text as a further value."""
    return SettingType(
        kind.metavar, f"{kind.valid}, or nothing", lambda text: kind.parse(text) if text else ""
    )


def is_word(word: str, kind: SettingType[str]) -> SettingType[bool]:
    """Return the type that tells whether a word of another type is this one."""
    return SettingType(kind.metavar, kind.valid, lambda text: kind.parse(text) == word)


def words(*names: str) -> SettingType[tuple[str, ...]]:
    """Return the type of lists of these words with commas, without repetition; at least one."""
    word = choice(*names)

    def parse(text: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(word.parse(part.strip()) for part in text.split(",")))

    return SettingType("LIST", f"one or more of {', '.join(names)}, with commas", parse)


def _parse_address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not host or (":" in host and not bracketed) or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"not an address: {text}")
    host = _without_nul(host[1:-1] if bracketed else host)
    # As the system will ask for it. Raises UnicodeError, a ValueError, for an empty or long label.
    host.encode("idna")
    return Address(host, int(port))


def _parse_servers(text: str) -> tuple[Address, ...]:
    servers = tuple(_parse_address(part.strip()) for part in text.split(",")) if text.strip() else ()
    if any(server.port == 0 for server in servers):
        raise ValueError("port 0 is not valid here")
    return servers


def _parse_path(text: str) -> Path:
    if not text:
        raise ValueError("the path is empty")
    return Path(_without_nul(text))


def _without_nul(text: str) -> str:
    """Return the text, or raise ValueError for one that no system call takes."""
    if "\0" in text:
        raise ValueError("a NUL character")
    return text


class Listener(NamedTuple):
    """A listener: its name, security protocol and address."""

    name: str
    protocol: str
    address: Address


def _parse_listeners(text: str) -> tuple[Listener, ...]:
    return tuple(_parse_listener(part.strip()) for part in text.split(",")) if text.strip() else ()


def _parse_listener(text: str) -> Listener:
    head, _, address = text.partition("://")
    name, _, protocol = head.partition(":")
    protocol = SECURITY_PROTOCOL.parse(protocol)
    if not name or not protocol:
        raise ValueError(f"not a listener: {text}")
    return Listener(name, protocol, _parse_address(address))


class SocketPath(NamedTuple):
    """The path of a unix socket to listen on."""

    path: Path

    def __str__(self) -> str:
        return f"{UNIX}{self.path}"


UNIX = "unix:"

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""Kafka: SecurityProtocol."""


def _parse_address_or_socket(text: str) -> Address | SocketPath:
    if text.startswith(UNIX):
        return SocketPath(_parse_path(text.removeprefix(UNIX)))
    return _parse_address(text)


WILDCARDS = ("0.0.0.0", "::")  # noqa: S104 (refused, not bound)
_NOT_IN_HOSTS = re.compile(r"[\s/,\[\]\0]")


def _parse_host(text: str) -> str:
    bracketed = text.startswith("[") and text.endswith("]")
    host = text[1:-1] if bracketed else text
    if bracketed or ":" in host:
        IPv6Address(host)
    if host in WILDCARDS or _NOT_IN_HOSTS.search(host):
        raise ValueError(f"not a host: {text}")
    host.encode("idna")
    return host


_HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")


def _parse_host_names(text: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(",")) if text.strip() else ()
    for name in names:
        if _HOST_NAME.fullmatch(name) is None:
            raise ValueError(f"not a host name: {name}")
    return names


def _parse_file(text: str) -> Path | None:
    return _parse_path(text) if text else None


def _parse_identification(text: str) -> str:
    if text.lower() not in ("https", ""):
        raise ValueError(text)
    return text.lower()


ADDRESS = SettingType("HOST:PORT", "HOST:PORT with a port in [0, 65535]", _parse_address)
SERVERS = SettingType(
    "HOST:PORT,...", "HOST:PORT with a port in [1, 65535], or several with commas", _parse_servers
)
PATH = SettingType("DIR", "a path", _parse_path)
DIRECTORY: SettingType[Path | None] = SettingType("DIR", "a path, or nothing", _parse_file)


ADDRESS_OR_SOCKET: SettingType[Address | SocketPath] = SettingType(
    "HOST:PORT", "HOST:PORT with a port in [0, 65535], or unix:PATH", _parse_address_or_socket
)
FILE: SettingType[Path | None] = SettingType("FILE", "a path, or nothing", _parse_file)
TEXT = SettingType("TEXT", "any text", str)
LONGEST_NAME = 60


def _parse_name(text: str) -> str:
    if len(text) > LONGEST_NAME or not text.isprintable() or text != text.strip():
        raise ValueError("not a name")
    return text


NAME = SettingType(
    "NAME",
    f"up to {LONGEST_NAME} printable characters without blanks at either end, or nothing",
    _parse_name,
)
"""A name for people, on one line."""
HOST = optional(SettingType("HOST", "a host name or an IP address, without a port", _parse_host))
"""A host that clients connect to."""
HOST_NAMES = SettingType(
    "NAMES", "host names without ports, separated by commas, or nothing", _parse_host_names
)
IDENTIFICATION_ALGORITHM = SettingType("https", "https, or nothing", _parse_identification)
"""Endpoint identification algorithm of Kafka's TLS settings."""

SWITCH, ON_OFF = is_word("true", choice("true", "false")), is_word("on", choice("off", "on"))
SECURITY_PROTOCOL = optional(choice(*SECURITY_PROTOCOLS))
LISTENERS = SettingType(
    "LISTENERS", "NAME:PROTOCOL://HOST:PORT, several with commas, or nothing", _parse_listeners
)


class Values(Protocol):
    """An object with the values of settings."""

    values: dict[str, Any]


class Key(Generic[T]):
    """Descriptor of one setting: on an instance of the settings class, the attribute is the parsed value.

    The name of the key is that of the attribute, with dots for underscores. The value of a `secret` key is
    not shown.
    """

    def __init__(self, kind: SettingType[T], default: str, doc: str, *, secret: bool = False) -> None:
        self.name = ""
        self.kind = kind
        self.default = default
        self.doc = doc
        self.secret = secret
        self._default = kind.parse(default)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name.replace("_", ".")

    @overload
    def __get__(self, holder: None, owner: type) -> Self: ...

    @overload
    def __get__(self, holder: Values, owner: type) -> T: ...

    def __get__(self, holder: Values | None, owner: type) -> Self | T:
        if holder is None:
            return self
        value: T = holder.values.get(self.name, self._default)
        return value
