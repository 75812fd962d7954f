"""kafka-python's codec as an oracle: its classes straight from the schema files, without its own patches."""

import warnings
from functools import cache
from typing import Any
from uuid import UUID

from protocol.codec.schema import ZERO_UUID, Message
from protocol.generate import KAFKA_PYTHON, kafka_python, snake_case

with warnings.catch_warnings():
    # kafka-python reads its schemas by a deprecated function.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.protocol.api_header import ResponseClassRegistry
    from kafka.protocol.api_message import ApiMessage


@cache
def peer_class(name: str) -> Any:
    """Return kafka-python's class for the message `name`, with its own schema if it has one, else ours."""
    is_theirs = (kafka_python() / KAFKA_PYTHON / f"{name}.json").exists()

    def json_patch(_: type, schema: Any) -> Any:
        # A field called Type would hide an attribute of the base class.
        for field in schema["fields"]:
            field["name"] = "TypeOf" if field["name"] == "Type" else field["name"]
        return schema

    # Its client finds response classes in this registry: a class of ours must not stay there.
    registry = ResponseClassRegistry._response_class_registry
    before = dict(registry)
    attributes: dict[str, Any] = {"json_patch": classmethod(json_patch)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        subclass = type(ApiMessage)(
            name, (ApiMessage,), attributes, load_json=None if is_theirs else "schemas"
        )
    registry.clear()
    registry.update(before)
    return subclass


def peer_bytes(schema: Message, version: int, message: Any) -> bytes:
    """Return the bytes that kafka-python makes of `message`."""
    peer = peer_class(schema.root.__name__)
    encoded: bytes = _peer_struct(peer, peer._struct, version, message).encode(version=version)
    return encoded


def _peer_struct(data_class: Any, struct: Any, version: int, row: Any) -> Any:
    values = {}
    for field in struct.fields.values():
        if not field.for_version_q(version):
            continue
        name = snake_case(field._name).replace("type_of", "type")
        value = getattr(row, _ours(name, row))
        if not _is_zero_uuid_tag(field, value):
            values[field.name] = _peer_value(field, version, value)
    return data_class(version=version, **values)


def _is_zero_uuid_tag(field: Any, value: Any) -> bool:
    """Whether a tagged UUID has its default. kafka-python writes it if it is given; Kafka leaves it out."""
    return field.tag is not None and field._type_str == "uuid" and value == ZERO_UUID


def _ours(name: str, row: Any) -> str:
    return name if name in row._fields else f"{name}_"


def _peer_value(field: Any, version: int, value: Any) -> Any:
    if value is None:
        return None
    if field.is_struct_array():
        return [_peer_struct(field.data_class, field.array_of, version, row) for row in value]
    if field.is_struct():
        return _peer_struct(field.data_class, field, version, value)
    if field._type_str == "uuid":
        return UUID(bytes=value)
    if field._type_str == "[]uuid":
        return [UUID(bytes=element) for element in value]
    return list(value) if field._type_str.startswith("[]") else value
