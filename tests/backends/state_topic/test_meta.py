"""The rows that are no records."""

import pytest

from backends.state_topic.meta import (
    META_KEY,
    PORTS_KEY,
    Meta,
    encode_ports,
    read_meta,
    read_ports,
)
from backends.state_topic.topic import StateTopicError
from protocol.errors import DecodeError

META = Meta(cluster_id="own", upstream_cluster_id="kafka")


def test_the_meta_row_is_read_again() -> None:
    assert read_meta({}, "t", "kafka") is None
    assert read_meta({META_KEY: META.encode().value or b""}, "t", "kafka") == META


def test_records_of_another_cluster_are_refused() -> None:
    with pytest.raises(StateTopicError, match="has the records of cluster kafka, not of other"):
        read_meta({META_KEY: META.encode().value or b""}, "t", "other")


def test_a_newer_format_is_refused() -> None:
    with pytest.raises(StateTopicError, match="has format 2, and this version knows formats up to 1"):
        read_meta({META_KEY: b'{"format": 2, "new": []}'}, "t", "kafka")


@pytest.mark.parametrize("value", [b"", b"[]", b'{"cluster_id": 1}'])
def test_a_damaged_meta_row_is_named(value: bytes) -> None:
    with pytest.raises(DecodeError, match="the row meta of the state topic"):
        read_meta({META_KEY: value}, "t", "kafka")


def test_positions_of_ports_are_read_again() -> None:
    assert read_ports({}) == {}
    assert read_ports({PORTS_KEY: encode_ports({7: 1, 3: 2}).value or b""}) == {7: 1, 3: 2}


@pytest.mark.parametrize("positions", [{1: 1, 2: 1}, {1: 0}])
def test_invalid_positions_are_refused(positions: dict[int, int]) -> None:
    with pytest.raises(DecodeError, match="twice, or an invalid one"):
        read_ports({PORTS_KEY: encode_ports(positions).value or b""})


def test_a_damaged_row_of_ports_is_named() -> None:
    with pytest.raises(DecodeError, match="the row ports of the state topic"):
        read_ports({PORTS_KEY: b"{"})
