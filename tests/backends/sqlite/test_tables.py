import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.record_forms import FORMS, RecordForm
from backends.sqlite.tables import SCHEMA, TABLES, Table
from controller.model.cluster import (
    Config,
    Partition,
    Pending,
    Record,
    ResourceType,
    ThrottleLease,
    Topic,
    TopicPartition,
)


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


FORM = RecordForm(
    "leases", ("config", "name", "ours"), 2, lambda r: (r.config, r.name, r.ours), lambda row: lease(*row)
)
TABLE = Table(FORM, "config")


def lease(config: str, name: str, ours: str) -> ThrottleLease:
    return ThrottleLease(ResourceType.TOPIC, name, config, ours, None)


def numbered(count: int) -> list[ThrottleLease]:
    return [lease(f"{number:03}", "foo", "x") for number in range(count)]


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as opened:
        opened.execute("CREATE TABLE leases (config TEXT, name TEXT, ours TEXT, PRIMARY KEY (config, name))")
        yield opened


@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 250])
def test_any_number_of_rows_is_inserted_and_deleted(database: sqlite3.Connection, count: int) -> None:
    TABLE.upsert(database, numbered(count))
    assert list(TABLE.load(database)) == numbered(count)
    TABLE.delete(database, [(each.config, each.name) for each in numbered(count)])
    assert list(TABLE.load(database)) == []


def test_a_row_with_an_existing_key_is_replaced(database: sqlite3.Connection) -> None:
    TABLE.upsert(database, [lease("a", "foo", "old"), lease("b", "foo", "old")])
    TABLE.upsert(database, [lease("a", "foo", "new")])
    assert list(TABLE.load(database)) == [lease("a", "foo", "new"), lease("b", "foo", "old")]


def test_the_last_of_several_rows_with_one_key_wins(database: sqlite3.Connection) -> None:
    TABLE.upsert(database, [lease("a", "foo", str(number)) for number in range(100)])
    assert list(TABLE.load(database)) == [lease("a", "foo", "99")]


def test_a_delete_removes_no_other_row(database: sqlite3.Connection) -> None:
    TABLE.upsert(database, [lease("a", "foo", "x"), lease("a", "bar", "x")])
    TABLE.delete(database, [("a", "foo")])
    assert list(TABLE.load(database)) == [lease("a", "bar", "x")]


def test_many_rows_take_few_statements(database: sqlite3.Connection) -> None:
    statements: list[str] = []
    database.set_trace_callback(statements.append)
    TABLE.upsert(database, numbered(2_000))
    assert len([each for each in statements if each.startswith("INSERT")]) == 2


PENDING = Table(FORMS[Pending], "sequence")


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9)), unique=True))
def test_runs_of_partitions_are_deleted_and_no_others(keys: list[tuple[str, int]]) -> None:
    every = [Pending(topic, number, (1,), 1) for topic in "ab" for number in range(10)]
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA)
        PENDING.upsert(database, every)
        PENDING.delete(database, [TopicPartition(*key) for key in keys])
        assert list(PENDING.load(database)) == [each for each in every if each.key not in keys]


def test_a_run_of_partitions_is_deleted_by_one_statement(database: sqlite3.Connection) -> None:
    statements: list[str] = []
    database.executescript(SCHEMA.replace("CREATE TABLE leases", "CREATE TABLE others"))
    database.set_trace_callback(statements.append)
    PENDING.delete(database, [TopicPartition("a", number) for number in range(1_000)])
    assert len([each for each in statements if each.startswith("DELETE")]) == 1
