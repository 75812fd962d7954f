"""All message modules, messages out of JSON, and hypothesis strategies for messages."""

import base64
from importlib import import_module
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import protocol.messages
from protocol.codec.schema import Field, Message, default_of, version_range
from protocol.codec.source import Layout
from protocol.generate import snake_case

LIMITS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}


def schema_called(name: str) -> Message:
    """Return the schema of the message that Kafka calls `name`."""
    schema: Message = import_module(f"protocol.messages.{snake_case(name)}").SCHEMA
    return schema


def all_schemas() -> list[Message]:
    """Return the schemas of all generated modules."""
    (folder,) = protocol.messages.__path__
    modules = sorted(path.stem for path in Path(folder).glob("*.py") if path.stem != "__init__")
    return [import_module(f"protocol.messages.{module}").SCHEMA for module in modules]


def all_versions() -> list[tuple[Message, int]]:
    """Return every message in every version."""
    return [(schema, version) for schema in all_schemas() for version in version_range(schema.versions)]


def from_json(schema: Message, struct: Any, values: dict[str, Any]) -> Any:
    """Return the message that Kafka's JSON form `values` stands for."""
    ours = {snake_case(name): value for name, value in values.items()}
    fields = {field.name: field for field in schema.structs[struct]}
    return struct(**{name: _from_json(schema, fields[name], value) for name, value in ours.items()})


def _from_json(schema: Message, field: Field, value: Any) -> Any:
    if value is None:
        return None
    struct = schema.struct(field.element)

    def convert(element: Any) -> Any:
        if struct is not None:
            return from_json(schema, struct, element)
        return base64.urlsafe_b64decode(element + "==") if field.element == "uuid" else element

    return tuple(map(convert, value)) if field.is_array else convert(value)


def a_message(schema: Message, version: int, rows: int = 3) -> st.SearchStrategy[Any]:
    """Return messages that `version` can carry, with at most `rows` elements in each array."""
    return _struct(Layout(schema, version), schema.root, rows)


def _struct(layout: Layout, struct: Any, rows: int) -> st.SearchStrategy[Any]:
    absent = layout.absent(struct)
    return st.builds(
        struct,
        *(
            st.just(default_of(struct, field)) if field in absent else _value(layout, field, rows)
            for field in layout.fields(struct)
        ),
    )


def _value(layout: Layout, field: Field, rows: int) -> st.SearchStrategy[Any]:
    struct = layout.struct_of(field)
    element = _scalar(field.element) if struct is None else _struct(layout, struct, rows)
    value = st.lists(element, max_size=rows).map(tuple) if field.is_array else element
    return st.none() | value if layout.is_nullable(field) else value


def _scalar(kind: str) -> st.SearchStrategy[Any]:
    if kind in LIMITS:
        return st.integers(*LIMITS[kind])
    if kind == "uuid":
        return st.binary(min_size=16, max_size=16)
    others: dict[str, st.SearchStrategy[Any]] = {
        "bool": st.booleans(),
        "bytes": st.binary(max_size=5),
        "float64": st.floats(allow_nan=False),
        "string": st.text(max_size=5),
    }
    return others[kind]
