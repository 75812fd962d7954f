import sqlite3
from contextlib import closing

import pytest

from backends.sqlite.tables import SCHEMA, TABLES
from controller.model.cluster import Config, Partition, Record, ResourceType, Topic


@pytest.mark.parametrize(
    ("record", "query", "row"),
    [
        (
            Partition("foo", 3, (1, 2), (2,), 2, 4, 9, (5,), ()),
            "SELECT * FROM partitions",
            ("foo", 3, "1,2", "2", 2, 4, 9, "5", ""),
        ),
        (Topic("foo", bytes([255] * 16)), "SELECT * FROM topics", ("foo", "_____________________w", 0)),
        (Config(ResourceType.BROKER, "", "a", "b"), "SELECT * FROM configs", ("broker", "", "a", "b")),
    ],
)
def test_rows_have_a_readable_form(record: Record, query: str, row: tuple[object, ...]) -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA)
        TABLES[type(record)].upsert(database, [record])
        assert list(database.execute(query)) == [row]


def test_equal_lists_and_names_share_one_object() -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA)
        table = TABLES[Partition]
        table.upsert(database, [Partition("foo", index, (7, 8), (7, 8), 7) for index in range(2)])
        first, second = table.load(database)
    assert isinstance(first, Partition)
    assert isinstance(second, Partition)
    assert first.topic is second.topic
    assert first.replicas is second.replicas
