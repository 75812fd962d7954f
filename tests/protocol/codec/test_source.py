"""Source text in the making, and how structs lie on the wire."""

from protocol.codec.schema import Field
from protocol.codec.source import Layout, Source, batches, local
from protocol.messages.metadata_response import SCHEMA, MetadataResponse, MetadataResponseTopic
from protocol.messages.request_header import SCHEMA as HEADER
from protocol.messages.request_header import RequestHeader
from protocol.messages.update_metadata_request import SCHEMA as UPDATE_METADATA
from protocol.messages.update_metadata_request import UpdateMetadataRequest
from tests.protocol.handmade import SCHEMA as HANDMADE
from tests.protocol.handmade import Handmade


def test_a_source_is_indented_and_runs() -> None:
    source = Source()
    with source.block("def add(a, b):"):
        source.line("return a + b + extra")
    source.name("extra", 1)
    assert source.text() == "def add(a, b):\n    return a + b + extra\n"
    assert source.compile("test")["add"](2, 3) == 6


def test_plain_values_stand_for_themselves_and_others_have_names() -> None:
    source = Source()
    assert [source.literal("x", value) for value in (None, (), True, -1, "a")] == [
        "None",
        "()",
        "True",
        "-1",
        "'a'",
    ]
    assert source.literal("x", b"abc") == "x"
    assert source.names == {"x": b"abc"}


def test_a_field_never_hides_a_variable_of_the_codec() -> None:
    assert [local(Field(name, "int8", "0+")) for name in ("data", "leader")] == ["data_", "leader"]


def test_a_layout_sorts_fields_by_where_they_are() -> None:
    names = [[field.name for field in Layout(SCHEMA, 0).plain(MetadataResponse)]]
    names.append([field.name for field in Layout(SCHEMA, 0).absent(MetadataResponse)][:2])
    names.append([field.name for field in Layout(UPDATE_METADATA, 8).tagged(UpdateMetadataRequest)])
    assert names == [["brokers", "topics"], ["throttle_time_ms", "cluster_id"], ["type_"]]


def test_the_client_id_of_a_flexible_header_is_not_compact() -> None:
    layout = Layout(HEADER, 2)
    assert [layout.is_compact(field) for field in layout.plain(RequestHeader)] == [True, True, True, False]


def test_the_least_size_of_a_struct_counts_lengths_and_tags() -> None:
    assert Layout(SCHEMA, 0).min_size(MetadataResponseTopic) == 2 + 2 + 4
    assert Layout(SCHEMA, 12).min_size(MetadataResponseTopic) == 2 + 1 + 16 + 1 + 1 + 4 + 1


def test_batches_join_numbers_that_stand_together() -> None:
    fields = [Field(kind, kind, "0+") for kind in ("int8", "int16", "string", "bool")]
    assert [[field.type for field in batch] for batch in batches(fields)] == [
        ["int8", "int16"],
        ["string"],
        ["bool"],
    ]


def test_the_least_size_of_a_struct_in_place_is_that_of_its_fields() -> None:
    assert Layout(HANDMADE, 0).min_size(Handmade) == (2 + 8) + 4 + 4
