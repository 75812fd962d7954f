"""JSON of znodes, taken apart with care: whatever is not as it should be is a `ZnodeError`."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from controller.model.cluster import Replicas

INT_MAX = 2**31 - 1


class ZnodeError(ValueError):
    """A znode's data cannot be understood; the message says why, without the path."""


def encode(value: Any) -> bytes:
    """Compact JSON, keys in the order given."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def named_partitions(value: Mapping[str, Any]) -> list[tuple[str, int]]:
    """`partitions` as a list of objects with `topic` and `partition`."""
    return [(string(row, "topic"), integer(row, "partition")) for row in rows_of(value)]


def rows_of(value: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """`partitions` as a list of objects."""
    rows = value.get("partitions")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ZnodeError("partitions is not a list of objects")
    return rows


def ids(value: Any, name: str) -> Replicas:
    """A list of broker ids."""
    if isinstance(value, list):
        for each in value:
            if type(each) is not int or not 0 <= each <= INT_MAX:
                break
        else:
            return tuple(value)
    raise ZnodeError(f"{name} is not a list of broker ids")


def decode_object(data: bytes | None) -> dict[str, Any]:
    """A JSON object."""
    try:
        value = json.loads((data or b"").decode())
    except (ValueError, RecursionError) as error:
        raise ZnodeError("it is not JSON") from error
    if not isinstance(value, dict):
        raise ZnodeError("it is not a JSON object")
    return value


def numbered(name: str) -> int | None:
    """The number that a znode is named by, as Kafka writes it; None for another name."""
    found = number(name)
    return found if str(found) == name else None


def number(text: str) -> int | None:
    """A plain decimal number, as in names of znodes; None when it is none."""
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(INT_MAX))):
        return None
    return int(text) if int(text) <= INT_MAX else None


def integer(value: Mapping[str, Any], name: str, least: int = 0) -> int:
    """A number that must be there."""
    number = value.get(name)
    if type(number) is not int or not least <= number <= INT_MAX:
        raise ZnodeError(f"{name} is not a number from {least}")
    return number


def string(value: Mapping[str, Any], name: str) -> str:
    """A string that must be there."""
    text = value.get(name)
    if not isinstance(text, str) or not text:
        raise ZnodeError(f"{name} is not a string")
    return text
