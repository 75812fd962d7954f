"""Convert parsed JSON into msgspec structs, with error messages of one line that name the field.

A struct declares a shape once. msgspec checks a value against it, and makes the JSON Schema of the OpenAPI
document from it. The text for "expected ..." follows from the declared type, or is its
`Meta(extra={"expected": ...})`.
"""

import re
from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec import inspect

from common.json.text import abbreviated
from common.plan_errors import PlanError

T = TypeVar("T")

_PATH = re.compile(r" - at `\$([^`\n]*)`$")
_SEGMENT = re.compile(r"\.(\w+)|\[(\d+)\]")
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_UNKNOWN = "Object contains unknown field `{}`"

_LISTS = (inspect.ListType, inspect.VarTupleType)


def convert_model(value: object, model: type[T], where: str = "the body") -> T:
    """Return the value as an instance of `model`.

    Raises PlanError; `where` names the value in the message.
    """
    try:
        return msgspec.convert(value, model)
    except msgspec.ValidationError as error:
        raise PlanError(explain(error, value, model, where)) from None


def explain(
    error: msgspec.ValidationError, value: object, model: object, where: str, prefix: str = ""
) -> str:
    """Return the message for an error of msgspec: which field, what it holds, and what was expected.

    `where` names the value itself, and `prefix` stands before the names of its fields.
    """
    text = str(error)
    path = _path(text, value)
    missing = _MISSING.match(text)
    if missing:
        path.append(missing[1])
    inner, declared = _descend(value, inspect.type_info(model), path)
    place = _place(path, where, prefix)
    if isinstance(inner, dict) and text.startswith(_UNKNOWN.partition("{")[0]):
        known = fields_of(declared)
        unknown = next(key for key in inner if key not in known)
        return f"{place} has the unknown key {abbreviated(unknown)}; known: {', '.join(known)}"
    state = "is missing" if missing else f"is {abbreviated(inner)}"
    return f"{place} {state}, expected {_expected(declared)}"


def _path(text: str, value: object) -> list[str | int]:
    """Return the names and indexes that lead to the invalid value, from the end of msgspec's message."""
    if isinstance(value, dict) and any(text == _UNKNOWN.format(key) for key in value):
        # The path is empty, and a key of the client may look like one.
        return []
    found = _PATH.search(text)
    return [name or int(index) for name, index in _SEGMENT.findall(found[1] if found else "")]


def _descend(value: object, declared: inspect.Type, path: Sequence[str | int]) -> tuple[object, inspect.Type]:
    """Return the value and the declared type at the path. A missing value is None."""
    for segment in path:
        inner = without_null(declared)
        if isinstance(segment, int):
            value = value[segment] if isinstance(value, list) else None
            if isinstance(inner, _LISTS):
                declared = inner.item_type
        else:
            value = value.get(segment) if isinstance(value, dict) else None
            declared = fields_of(inner)[segment]
    return value, declared


def without_null(declared: inspect.Type) -> inspect.Type:
    """Return the type of a value that is given: without metadata, null and unset."""
    if isinstance(declared, inspect.Metadata):
        return without_null(declared.type)
    if isinstance(declared, inspect.UnionType):
        return without_null(declared.types[0])
    return declared


def fields_of(declared: inspect.Type) -> dict[str, inspect.Type]:
    """Return the types of a struct's fields by their names in JSON; empty for other types."""
    struct = without_null(declared)
    return (
        {field.encode_name: field.type for field in struct.fields}
        if isinstance(struct, inspect.StructType)
        else {}
    )


def _place(path: Sequence[str | int], where: str, prefix: str) -> str:
    """Return the field's name: `'partition'`, `replicas[1]`, or `partitions[0]: 'topic'`."""
    if not path:
        return where
    *outer, last = path
    text = prefix
    if isinstance(last, int):
        return f"{text}{_joined(path)}"
    return f"{text}{_joined(outer)}{': ' if outer else ''}'{last}'"


def _joined(path: Sequence[str | int]) -> str:
    return "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in path).removeprefix(".")


def _expected(declared: inspect.Type) -> str:
    if isinstance(declared, inspect.Metadata):
        return str(declared.extra["expected"]) if declared.extra else _expected(declared.type)
    match declared:
        case inspect.UnionType():
            return " or ".join(map(_expected, declared.types))
        case inspect.LiteralType():
            return " or ".join(map(abbreviated, declared.values))
        case inspect.EnumType():
            return " or ".join(abbreviated(each.value) for each in declared.cls)
        case inspect.IntType(ge=int(), le=int()):
            return f"a number from {declared.ge} to {declared.le}"
        case inspect.IntType() | inspect.FloatType():
            return "a number"
        case inspect.StrType():
            return "text"
        case inspect.BoolType():
            return "true or false"
        case inspect.NoneType():
            return "null"
    return "a list" if isinstance(declared, _LISTS) else "an object"


def decode_foreign(text: bytes | str, decoder: msgspec.json.Decoder[T]) -> T:
    """Return the value. Raises msgspec.DecodeError, also for deep nesting and for text that is not UTF-8."""
    try:
        return decoder.decode(text)
    except RecursionError:
        raise msgspec.DecodeError("lists or objects are nested too deeply") from None
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"a text is not UTF-8: {error.reason}") from None
