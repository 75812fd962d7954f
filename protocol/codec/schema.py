"""The wire description of a message: the data from which `protocol.codec` compiles functions.

A generated module in `protocol.messages` holds one `Message`: its root class, its structs and their fields,
in the terms of Kafka's message schema language. Version ranges are written as there: "3", "0-2", "5+" or
"none".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple, Protocol, TypeVar

Response = TypeVar("Response", bound=NamedTuple)
"""A response. All messages are named tuples, so `NamedTuple` stands for any message."""

Response_co = TypeVar("Response_co", bound=NamedTuple, covariant=True)

MAX_VERSION = 32767

ZERO_UUID = bytes(16)
"""The absent UUID. A `uuid` field is its 16 bytes: four times faster to decode than `uuid.UUID`."""

FIXED_FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
"""Types whose width never varies, with their `struct` format (big-endian)."""

FIXED_SIZES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}


def array_format(element: str, count: int) -> str:
    """Return the `struct` format of `count` values of a fixed type."""
    code = FIXED_FORMATS[element]
    return f">{count}{code}" if len(code) == 1 else f">{code * count}"


@cache
def version_range(text: str) -> range:
    """Return the versions that `text` names: "0-2" is range(0, 3), "none" is empty."""
    if text == "none":
        return range(0)
    first, _, last = text.removesuffix("+").partition("-")
    if text.endswith("+"):
        return range(int(first), MAX_VERSION + 1)
    return range(int(first), int(last or first) + 1)


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its Python name, wire type ("int32", "[]string", "[]SomeStruct") and version ranges.

    `flexible` overrides the message's flexible versions (only the client id of a request header needs it).
    """

    name: str
    type: str
    versions: str
    nullable: str = "none"
    tag: int | None = None
    tagged: str = "none"
    ignorable: bool = False
    flexible: str | None = None

    @property
    def is_array(self) -> bool:
        """Tell whether the type is an array."""
        return self.type.startswith("[]")

    @property
    def element(self) -> str:
        """The type of an array's elements, or the type itself."""
        return self.type.removeprefix("[]")

    def in_version(self, version: int) -> bool:
        """Tell whether `version` carries the field."""
        return version in version_range(self.versions)

    def is_nullable(self, version: int) -> bool:
        """Tell whether `version` has a null for the field."""
        return version in version_range(self.nullable)

    def is_tagged(self, version: int) -> bool:
        """Tell whether `version` carries the field in the tag section."""
        return version in version_range(self.tagged)


@dataclass(frozen=True, slots=True)
class Message:
    """One schema file. `structs` maps each class, the root last, to its fields in wire order."""

    root: type
    kind: Literal["request", "response", "header"]
    api_key: int | None
    versions: str
    flexible: str
    structs: dict[type, tuple[Field, ...]]

    def is_flexible(self, version: int) -> bool:
        """Tell whether `version` has compact lengths and tag sections (KIP-482)."""
        return version in version_range(self.flexible)

    def struct(self, name: str) -> type | None:
        """Return the struct class called `name`, or None when `name` is a primitive type."""
        return next((struct for struct in self.structs if struct.__name__ == name), None)


class Request(Protocol[Response_co]):
    """A request message. All request classes of `protocol.messages` have this method.

    `Request[NamedTuple]` stands for any request.
    """

    def response_class(self) -> type[Response_co]:
        """Return the class of the response."""
        ...


def default_of(struct: type, field: Field) -> object:
    """Return the value that `field` has where a version does not carry it."""
    defaults: Mapping[str, object] = vars(struct)["_field_defaults"]
    return defaults[field.name]
