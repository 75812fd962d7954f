"""Version ranges, and the questions that the compilers ask of a schema."""

from protocol.messages.metadata_response import SCHEMA, MetadataResponse, MetadataResponseTopic
from protocol.schema import ZERO_UUID, Field, array_format, default_of, version_range


def test_version_ranges_are_written_as_in_kafka() -> None:
    assert version_range("3") == range(3, 4)
    assert version_range("0-2") == range(3)
    assert version_range("5+") == range(5, 32768)
    assert not version_range("none")


def test_a_field_knows_its_versions() -> None:
    field = Field("x", "[]int32", "1-3", nullable="2+", tag=0, tagged="3+")
    assert [field.in_version(version) for version in range(5)] == [False, True, True, True, False]
    assert [field.is_nullable(version) for version in range(4)] == [False, False, True, True]
    assert [field.is_tagged(version) for version in range(4)] == [False, False, False, True]
    assert (field.is_array, field.element) == (True, "int32")


def test_a_message_knows_its_structs_and_flexible_versions() -> None:
    assert SCHEMA.struct("MetadataResponseTopic") is MetadataResponseTopic
    assert SCHEMA.struct("int32") is None
    assert [SCHEMA.is_flexible(version) for version in (8, 9)] == [False, True]


def test_defaults_are_those_of_the_class() -> None:
    (topic_id,) = [field for field in SCHEMA.structs[MetadataResponseTopic] if field.name == "topic_id"]
    assert default_of(MetadataResponseTopic, topic_id) == ZERO_UUID
    assert MetadataResponse().controller_id == -1


def test_an_array_format_repeats_wide_codes() -> None:
    assert array_format("int32", 3) == ">3i"
    assert array_format("uuid", 2) == ">16s16s"
