"""Encodes and decodes all Kafka APIs in all versions, with kafka-python's schemas and a few more."""

import sys
from functools import cache
from types import ModuleType
from typing import Any

from protocol.codec.schema import Field, Message
from protocol.codec.wire import Codec, codec
from protocol.generate import KAFKA_PYTHON, ModuleWriter, kafka_python, load
from protocol.messages.request_header import RequestHeader

CORRELATION_ID = 7


def schema(name: str, key: int, versions: str, *fields: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a request that is flexible in all versions."""
    kind = {"apiKey": key, "type": "request", "name": name, "validVersions": versions}
    return {**kind, "flexibleVersions": "0+", "fields": list(fields)}


def field(name: str, kind: str, **more: Any) -> dict[str, Any]:
    """Return a field that exists in all versions."""
    return {"name": name, "type": kind, "versions": "0+", **more}


def groups_described(name: str, key: int, versions: str) -> dict[str, Any]:
    """Return the schema of a GroupDescribe request; all of them have the same fields."""
    return schema(
        name, key, versions, field("GroupIds", "[]string"), field("IncludeAuthorizedOperations", "bool")
    )


PARTITIONS = [field("TopicName", "string"), field("Partitions", "[]int32")]
SHARED = [field("GroupId", "string"), field("Topics", "[]Topic", nullableVersions="0+", fields=PARTITIONS)]
OWNER = [field("PrincipalType", "string"), field("PrincipalName", "string")]

EXTRA_SCHEMAS = {
    "DescribeDelegationToken": schema(
        "DescribeDelegationTokenRequest",
        41,
        "1-3",
        field("Owners", "[]Owner", nullableVersions="0+", default="null", fields=OWNER),
    )
    | {"flexibleVersions": "2+"},
    "ConsumerGroupDescribe": groups_described("ConsumerGroupDescribeRequest", 69, "0-1"),
    "ShareGroupDescribe": groups_described("ShareGroupDescribeRequest", 77, "0-1"),
    "StreamsGroupDescribe": groups_described("StreamsGroupDescribeRequest", 89, "0-1"),
    "DescribeShareGroupOffsets": schema(
        "DescribeShareGroupOffsetsRequest", 90, "0-1", field("Groups", "[]Group", fields=SHARED)
    ),
}


@cache
def message(name: str, half: str = "Request") -> Message:
    """Return the schema of a request, or of a response."""
    document = EXTRA_SCHEMAS.get(name) if half == "Request" else None
    if document is None:
        document = load((kafka_python() / KAFKA_PYTHON / f"{name}{half}.json").read_text())
    module = ModuleType(f"{__name__}.{name}{half}")
    sys.modules[module.__name__] = module
    exec(ModuleWriter(document, name, names_response=False).text(), module.__dict__)  # noqa: S102
    compiled: Message = module.__dict__["SCHEMA"]
    return compiled


def frame(name: str, version: int, values: dict[str, Any]) -> bytes:
    """Encode a request with its length. Fields that the version does not have are omitted."""
    request = message(name)
    header = RequestHeader(request.api_key or 0, version, CORRELATION_ID, "reader")
    head = codec(RequestHeader, 2 if request.is_flexible(version) else 1).encode(header)
    body = Codec(request, version).encode(_row(request, request.root, version, values))
    return len(head + body).to_bytes(4) + head + body


def decoded(name: str, version: int, answer: bytes) -> Any:
    """Decode a response without its length."""
    response = message(name, "Response")
    # The response header of ApiVersions has no tagged fields (KIP-511).
    tagged = response.is_flexible(version) and name != "ApiVersions"
    return Codec(response, version).decode(answer[5 if tagged else 4 :])


def _row(request: Message, kind: Any, version: int, values: dict[str, Any]) -> Any:
    known = {definition.name: definition for definition in request.structs[kind]}
    kept = {name: value for name, value in values.items() if known[name].in_version(version)}
    return kind(**{name: _value(request, known[name], version, value) for name, value in kept.items()})


def _value(request: Message, of: Field, version: int, value: Any) -> Any:
    kind = request.struct(of.element)
    if kind is None or value is None:
        return value
    if of.is_array:
        return [_row(request, kind, version, row) for row in value]
    return _row(request, kind, version, value)
