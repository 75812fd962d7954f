"""Rows as JSON lines, and the differences between rows."""

import pytest

from backends.state_topic.history import History
from backends.state_topic.state_rows import META_KEY, Meta
from controller.model.cluster import Paused, Pending
from protocol.record_batch import BatchRecord
from reassignd.config.errors import CommandError
from reassignd.transfer.topic_rows import Contents, changes_between, decode, from_lines, same, to_lines
from tests.backends.state_topic.builders import Log

META = Meta(cluster_id="own", upstream_cluster_id="up")
ROWS = Contents([Paused(True), Pending("foo", 0, (1,), 1)], META, {3: 1}).rows()


def test_rows_are_read_as_they_were_written() -> None:
    lines = list(to_lines(ROWS))
    assert lines[0].startswith(b'{"key":["meta"]')
    assert from_lines([*lines, b"\n"], "up") == ROWS


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"garbage", "line 4 is no row of `reassignd state export`"),
        (b'{"key": ["a"]}', "line 4 is no row"),
        (b'{"key":["tomorrow"],"value":{}}', "the unknown kind 'tomorrow'"),
        (b'{"key":["meta"],"value":{"format":9}}', "format 9.*start the newer version"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(line: bytes, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        from_lines([*list(to_lines(ROWS))[:3], line], "up")


def test_a_file_without_its_first_row_is_refused() -> None:
    with pytest.raises(CommandError, match=r'no row \["meta"\]'):
        from_lines(list(to_lines(ROWS))[1:], "up")


def test_rows_of_another_cluster_are_refused() -> None:
    with pytest.raises(CommandError, match="the records of cluster up, not of down"):
        from_lines(to_lines(ROWS), "down")


def test_changes_turn_the_old_rows_into_the_new_ones() -> None:
    changes = changes_between({b"a": b"1", b"b": b"2"}, {b"a": b"1", b"c": b"3"})
    assert changes == [BatchRecord(b"c", b"3"), BatchRecord(b"b", None)]


async def decoded(rows: dict[bytes, bytes]) -> Contents:
    history = History()
    history.apply(Log().add(*map(BatchRecord._make, rows.items())).batches)
    contents = await decode(history, "state", "up")
    assert contents is not None
    return contents


async def test_the_order_of_records_counts_but_not_its_numbers() -> None:
    later = {key: value.replace(b'"sequence":1', b'"sequence":7') for key, value in ROWS.items()}
    contents = await decoded(ROWS)
    assert await same(contents, await decoded(later))
    assert not await same(contents, contents._replace(records=contents.records[::-1]))
    assert not await same(contents, await decoded({META_KEY: ROWS[META_KEY]}))
