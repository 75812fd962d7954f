"""Whole messages: Kafka's own bytes, kafka-python's bytes, and what the codec refuses."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.codec.errors import DecodeError, EncodeError
from protocol.codec.schema import Message, version_range
from protocol.codec.wire import Codec, codec, schema_of
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
from protocol.messages.list_partition_reassignments_response import (
    CurrentBatchPartition,
    CurrentBatchTopic,
    ListPartitionReassignmentsResponse,
)
from protocol.messages.metadata_response import MetadataResponse
from protocol.messages.update_metadata_request import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from tests.examples import examples
from tests.protocol.messages import a_message, all_schemas, all_versions, from_json, schema_called
from tests.protocol.oracle import peer_bytes

VECTORS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "vectors.jsonl").read_text().splitlines()
    if line
]
MESSAGES = [schema for schema in all_schemas() if schema.kind != "header"]


def title(value: Any) -> str:
    if isinstance(value, Message):
        return value.root.__name__
    return f"{value['name']}-v{value['version']}-{value['case']}" if isinstance(value, dict) else f"v{value}"


def vector(value: dict[str, Any]) -> tuple[Any, Any, bytes]:
    schema = schema_called(value["name"])
    message = from_json(schema, schema.root, value["json"])
    return codec(schema.root, value["version"]), message, bytes.fromhex(value["hex"])


@pytest.mark.parametrize("value", VECTORS, ids=title)
def test_bytes_encoded_by_kafka_are_decoded_to_its_values(value: dict[str, Any]) -> None:
    ours, message, data = vector(value)
    assert ours.decode(data) == message


@pytest.mark.parametrize("value", [v for v in VECTORS if "unknown_tags" not in v], ids=title)
def test_messages_encode_to_the_bytes_that_kafka_makes(value: dict[str, Any]) -> None:
    ours, message, data = vector(value)
    assert ours.encode(message) == data


@pytest.mark.parametrize("value", [v for v in VECTORS if "unknown_tags" in v], ids=title)
def test_unknown_tags_are_skipped_and_not_encoded_again(value: dict[str, Any]) -> None:
    ours, message, data = vector(value)
    encoded: bytes = ours.encode(ours.decode(data))
    assert len(encoded) < len(data)
    assert ours.decode(encoded) == message


@pytest.mark.parametrize("schema", MESSAGES, ids=title)
@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_bytes_equal_those_of_kafka_python_and_decode_to_the_same_message(
    schema: Message, data: st.DataObject
) -> None:
    version = data.draw(st.sampled_from(version_range(schema.versions)))
    message = data.draw(a_message(schema, version))
    if isinstance(message, ListPartitionReassignmentsResponse):
        message = message._replace(current_batch=None)  # ours alone
    if isinstance(message, AlterPartitionReassignmentsResponse):
        message = message._replace(job_id=0)  # ours alone, too
    encoded = codec(schema.root, version).encode(message)
    assert encoded == peer_bytes(schema, version, message)
    assert codec(schema.root, version).decode(encoded) == message


@pytest.mark.parametrize(("schema", "version"), all_versions(), ids=title)
def test_defaults_survive_every_version(schema: Message, version: int) -> None:
    ours: Codec[Any] = codec(schema.root, version)
    assert ours.decode(ours.encode(schema.root())) == schema.root()


@settings(max_examples=examples(50), deadline=None)
@given(message=a_message(schema_of(ListPartitionReassignmentsResponse), 0))
def test_the_current_batch_survives(message: ListPartitionReassignmentsResponse) -> None:
    ours = codec(ListPartitionReassignmentsResponse, 0)
    assert ours.decode(ours.encode(message)) == message


def test_the_current_batch_is_a_tag_that_stock_clients_skip() -> None:
    batch = (CurrentBatchTopic("t", (CurrentBatchPartition(0, (1, 2), (2, 3)),)),)
    ours = codec(ListPartitionReassignmentsResponse, 0)
    plain = ours.encode(ListPartitionReassignmentsResponse())
    assert ours.encode(ListPartitionReassignmentsResponse(current_batch=batch)).startswith(plain[:-1])


def test_target_replicas_are_dropped_before_the_first_flexible_version_of_update_metadata() -> None:
    state = UpdateMetadataPartitionState(partition_index=1, target_replicas=(4, 5))
    request = UpdateMetadataRequest(topic_states=(UpdateMetadataTopicState("t", partition_states=(state,)),))
    kept = [
        codec(UpdateMetadataRequest, v).decode(codec(UpdateMetadataRequest, v).encode(request))
        for v in (5, 6)
    ]
    replicas = [message.topic_states[0].partition_states[0].target_replicas for message in kept]
    assert replicas == [(), (4, 5)]


def test_null_topics_and_partitions_differ_from_empty_ones() -> None:
    ours = codec(AlterPartitionReassignmentsRequest, 1)
    for topics in (None, (), (ReassignableTopic("t", None),), (ReassignableTopic("t", ()),)):
        message = AlterPartitionReassignmentsRequest(topics=topics)
        assert ours.decode(ours.encode(message)) == message


def test_lists_encode_as_tuples_do() -> None:
    rows = [ReassignablePartition(1, (1, 2))]
    ours = codec(AlterPartitionReassignmentsRequest, 1)
    as_lists = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic("t", rows)])
    as_tuples = AlterPartitionReassignmentsRequest(topics=(ReassignableTopic("t", tuple(rows)),))
    assert ours.encode(as_lists) == ours.encode(as_tuples)


def test_a_memoryview_decodes_as_bytes_do_and_bytes_after_the_message_are_ignored() -> None:
    ours = codec(MetadataResponse, 12)
    data = ours.encode(MetadataResponse(cluster_id="c"))
    assert ours.decode(memoryview(data + b"more")) == ours.decode(data)


def test_an_unknown_version_is_named() -> None:
    with pytest.raises(DecodeError, match="MetadataResponse has versions 0-13, not 14"):
        codec(MetadataResponse, 14)


def test_a_value_that_the_version_lacks_is_refused() -> None:
    with pytest.raises(EncodeError, match="v0: allow_replication_factor_change has a value"):
        codec(AlterPartitionReassignmentsRequest, 0).encode(
            AlterPartitionReassignmentsRequest(allow_replication_factor_change=False)
        )


def test_an_ignorable_value_is_dropped_in_a_version_that_lacks_it() -> None:
    ours = codec(MetadataResponse, 0)
    assert ours.encode(MetadataResponse(cluster_id="c")) == ours.encode(MetadataResponse())


@pytest.mark.parametrize(
    "request_",
    [
        AlterPartitionReassignmentsRequest(timeout_ms=2**31),
        AlterPartitionReassignmentsRequest(topics=(ReassignableTopic(name=cast(Any, None)),)),
        AlterPartitionReassignmentsRequest(topics=(ReassignableTopic("x" * 32768),)),
        AlterPartitionReassignmentsRequest(topics=(ReassignableTopic("\ud800"),)),
        AlterPartitionReassignmentsRequest(
            topics=(ReassignableTopic("t", (ReassignablePartition(-(2**31) - 1),)),)
        ),
    ],
)
def test_a_value_that_cannot_be_encoded_is_refused(request_: AlterPartitionReassignmentsRequest) -> None:
    with pytest.raises(EncodeError, match="AlterPartitionReassignmentsRequest v1"):
        codec(AlterPartitionReassignmentsRequest, 1).encode(request_)
