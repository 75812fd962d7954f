"""Strict readers for the JSON of znodes: whatever is not as expected raises `ZnodeError`."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from controller.model.cluster import Replicas

INT_MAX = 2**31 - 1


class ZnodeError(ValueError):
    """A znode's data is invalid. The message gives the reason, without the path."""


def encode(value: object) -> bytes:
    """Return compact JSON, with keys in the given order."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def named_partitions(value: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return (topic, partition) of each row of `partitions`. Raises ZnodeError."""
    return [(string(row, "topic"), integer(row, "partition")) for row in rows_of(value)]


def rows_of(value: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """Return `partitions`, a list of objects. Raises ZnodeError."""
    rows = value.get("partitions")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ZnodeError("partitions is not a list of objects")
    return rows


def ids(value: object, name: str) -> Replicas:
    """Return a list of broker ids. Raises ZnodeError."""
    if isinstance(value, list):
        for each in value:
            if type(each) is not int or not 0 <= each <= INT_MAX:
                break
        else:
            return tuple(value)
    raise ZnodeError(f"{name} is not a list of broker ids")


def decode_object(data: bytes | None) -> dict[str, Any]:
    """Return a JSON object. Raises ZnodeError."""
    try:
        value = json.loads((data or b"").decode())
    except (ValueError, RecursionError) as error:
        raise ZnodeError("it is not JSON") from error
    if not isinstance(value, dict):
        raise ZnodeError("it is not a JSON object")
    return value


def numbered(name: str) -> int | None:
    """Return the number that is a znode's name, in Kafka's form (no leading zeros); None for any other name."""
    value = number(name)
    return value if str(value) == name else None


def number(text: str) -> int | None:
    """Return a decimal number from 0 to INT_MAX; None for any other text."""
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(INT_MAX))):
        return None
    return int(text) if int(text) <= INT_MAX else None


def integer(value: Mapping[str, Any], name: str, least: int = 0) -> int:
    """Return a required number of at least `least`. Raises ZnodeError."""
    number = value.get(name)
    if type(number) is not int or not least <= number <= INT_MAX:
        raise ZnodeError(f"{name} is not a number from {least}")
    return number


def string(value: Mapping[str, Any], name: str) -> str:
    """Return a required string that is not empty. Raises ZnodeError."""
    text = value.get(name)
    if not isinstance(text, str) or not text:
        raise ZnodeError(f"{name} is not a string")
    return text
