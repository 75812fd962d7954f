"""The audit log in the database of the records."""

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.sqlite.audit import AuditReader, AuditSpan, index_topics
from backends.sqlite.store import SqliteStore
from controller.model.audit import AuditAction, AuditEntry, AuditFilter, AuditLogError, AuditTrim
from controller.model.cluster import ControllerEpoch
from tests.examples import examples

ALL = AuditFilter()


def entry(
    number: int, action: str = "order", principal: str = "User:ann", job: int = 0, topics: Sequence[str] = ()
) -> AuditEntry:
    """Return an entry of client `c` at the time of ten times its id."""
    detail = json.dumps({"topics": list(topics)} if topics else {})
    return AuditEntry(number, 10 * number, AuditAction(action), principal, "c", job, detail)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path)) as made:
        yield made


@pytest.fixture
def reader(store: SqliteStore) -> Iterator[AuditReader]:
    with closing(store.audit_reader()) as made:
        yield made


async def test_an_entry_is_durable_with_the_records_of_its_commit(store: SqliteStore, tmp_path: Path) -> None:
    await store.commit([ControllerEpoch(7), entry(1)])
    with closing(AuditReader(tmp_path / "records.db")) as reader:
        assert reader.newest(ALL, 10) == [entry(1)]
    assert list(store.load()) == [ControllerEpoch(7)]


async def test_a_failed_transaction_stores_neither_records_nor_entries(
    store: SqliteStore, reader: AuditReader
) -> None:
    with pytest.raises(OverflowError):
        await store.commit([entry(1), ControllerEpoch(2**70)])
    assert (reader.newest(ALL, 10), list(store.load())) == ([], [])


async def test_pages_continue_at_an_id(store: SqliteStore, reader: AuditReader) -> None:
    await store.commit([entry(number) for number in range(1, 6)])
    assert [each.id for each in reader.newest(ALL, 2)] == [5, 4]
    assert [each.id for each in reader.newest(ALL, 9, before=4)] == [3, 2, 1]
    assert [each.id for each in reader.oldest(ALL, 2, after=3)] == [4, 5]


async def test_an_empty_log_has_no_span(reader: AuditReader) -> None:
    assert reader.span() == AuditSpan(0, 0, 0)
    assert reader.newest(AuditFilter(since_ms=5), 10) == []


async def test_old_entries_are_deleted(store: SqliteStore, reader: AuditReader) -> None:
    await store.commit([entry(number) for number in range(1, 6)])
    await store.commit([AuditTrim(4)])
    assert reader.span() == AuditSpan(4, 5, 50)
    assert reader.first_at(0) <= 4


def index_all(directory: Path) -> None:
    with closing(sqlite3.connect(directory / "records.db", isolation_level=None)) as database:
        while index_topics(database):
            pass


async def test_the_topics_of_deleted_entries_are_deleted(store: SqliteStore, tmp_path: Path) -> None:
    await store.commit([entry(1, topics=["foo", "bar"]), entry(2, topics=["foo"])])
    index_all(tmp_path)
    await store.commit([AuditTrim(2)])
    with closing(sqlite3.connect(tmp_path / "records.db")) as database:
        assert database.execute("SELECT topic, entry FROM audit_topic_entries").fetchall() == [("foo", 2)]


ACTIONS = st.sampled_from(["order", "cancel", "pause"])
PRINCIPALS = st.sampled_from(["User:ann", "User:bob"])
TOPICS = st.sampled_from(["foo", "it's", 'a"b'])
ENTRIES = st.lists(
    st.tuples(ACTIONS, PRINCIPALS, st.integers(0, 3), st.lists(TOPICS, unique=True)), max_size=30
)
FILTERS = st.builds(
    AuditFilter,
    st.none() | st.sets(ACTIONS.map(AuditAction)),
    st.none() | PRINCIPALS,
    st.none() | st.sampled_from(["c", "d"]),
    st.none() | st.integers(1, 3),
    st.none() | st.integers(0, 300),
    st.none() | st.integers(0, 300),
    st.none() | TOPICS,
)


@settings(max_examples=examples(60), deadline=None)
@given(ENTRIES, FILTERS, st.integers(1, 40), st.integers(0, 5), st.integers(0, 30))
def test_filters_select_the_same_entries_as_a_scan(
    made: list[tuple[str, str, int, list[str]]], chosen: AuditFilter, limit: int, trimmed: int, indexed: int
) -> None:
    entries = [entry(number, *fields) for number, fields in enumerate(made, 1)]

    async def stored(store: SqliteStore, directory: str) -> None:
        await store.commit(entries[:indexed])
        index_all(Path(directory))
        await store.commit(entries[indexed:])
        await store.commit([AuditTrim(trimmed)])

    expected = [each for each in entries if each.id >= trimmed and _matches(chosen, each)]
    with TemporaryDirectory() as directory, closing(SqliteStore(Path(directory))) as store:
        asyncio.run(stored(store, directory))
        with closing(store.audit_reader()) as reader:
            assert reader.newest(chosen, limit) == expected[::-1][:limit]
            assert reader.oldest(chosen, limit) == expected[:limit]


@pytest.fixture(scope="module")
def many_entries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AuditReader]:
    """Frequent principals, clients, actions and topics, of which some never occur together."""
    directory = tmp_path_factory.mktemp("entries")
    anns = [entry(number, topics=["foo"]) for number in range(1, 5_000)]
    bobs = [entry(number, "queue", "User:bob", topics=["bar"]) for number in range(5_000, 10_000)]
    last = entry(10_000, "cancel", "User:bob", 7, ["foo", "bar"])
    entries = [*anns, *(each._replace(client_id="d") for each in bobs), last]

    async def fill(store: SqliteStore) -> None:
        await store.commit(entries)

    with closing(SqliteStore(directory)) as store:
        asyncio.run(fill(store))
        index_all(directory)
        with closing(store.audit_reader()) as reader:
            yield reader


@pytest.mark.parametrize(
    "chosen",
    [
        AuditFilter(topic="foo"),
        AuditFilter(topic="foo", principal="User:bob"),
        AuditFilter(topic="foo", client_id="d"),
        AuditFilter(topic="foo", principal="User:ann", client_id="d"),
        AuditFilter(topic="foo", principal="User:nobody"),
        AuditFilter(topic="foo", client_id="nobody"),
        AuditFilter(topic="foo", job=7),
        AuditFilter(topic="foo", actions={AuditAction.CANCEL}),
        AuditFilter(topic="foo", actions={AuditAction.QUEUE}),
        AuditFilter(topic="bar", principal="User:ann"),
        AuditFilter(actions={AuditAction.ORDER, AuditAction.QUEUE}, job=7),
        AuditFilter(principal="User:ann", client_id="d"),
    ],
)
async def test_the_work_for_a_filter_does_not_grow_with_the_entries(
    many_entries: AuditReader, chosen: AuditFilter
) -> None:
    steps = Counter[str]()
    many_entries._database.set_progress_handler(lambda: steps.update(["executed"]), 100)
    many_entries.newest(chosen, 10)
    many_entries.oldest(chosen, 10)
    assert steps["executed"] < 50


def _matches(chosen: AuditFilter, each: AuditEntry) -> bool:
    return (
        (chosen.actions is None or each.action in chosen.actions)
        and chosen.principal in (None, each.principal)
        and chosen.client_id in (None, each.client_id)
        and chosen.job in (None, each.job)
        and (chosen.since_ms is None or each.time_ms >= chosen.since_ms)
        and (chosen.until_ms is None or each.time_ms < chosen.until_ms)
        and (chosen.topic is None or chosen.topic in json.loads(each.detail).get("topics", ()))
    )


async def test_the_topics_of_entries_are_indexed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backends.sqlite.store.INDEX_SECONDS", 0)
    monkeypatch.setattr("backends.sqlite.audit.INDEX_BATCH", 2)
    with closing(SqliteStore(tmp_path)) as store:
        await store.commit([entry(number, topics=["foo"]) for number in range(1, 6)])
        with closing(sqlite3.connect(tmp_path / "records.db")) as database:
            while database.execute("SELECT count(*) FROM audit_topic_entries").fetchone() != (5,):
                await asyncio.sleep(0.01)


async def test_entries_below_indexed_ones_are_found_by_topic(
    store: SqliteStore, reader: AuditReader, tmp_path: Path
) -> None:
    for number in (3, 1, 2):
        await store.commit([entry(number, topics=["foo"])])
        index_all(tmp_path)
        assert number in [each.id for each in reader.newest(AuditFilter(topic="foo"), 9)]
    assert [each.id for each in reader.newest(AuditFilter(topic="foo"), 9)] == [3, 2, 1]


async def test_the_index_of_an_earlier_version_is_replaced(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path)) as store:
        await store.commit([entry(1, topics=["foo"])])
    with closing(sqlite3.connect(tmp_path / "records.db")) as database, database:
        database.execute("CREATE TABLE audit_topics (topic TEXT, entry INTEGER, PRIMARY KEY (topic, entry))")
        row = entry(2, principal="User:bob", topics=["foo"])
        database.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    with closing(SqliteStore(tmp_path)) as store, closing(store.audit_reader()) as reader:
        for _ in range(2):
            assert [each.id for each in reader.newest(AuditFilter(topic="foo"), 9)] == [2, 1]
            assert reader.newest(AuditFilter(topic="foo", principal="User:bob"), 9) == [row]
            index_all(tmp_path)
    with closing(sqlite3.connect(tmp_path / "records.db")) as database:
        assert not database.execute("SELECT 1 FROM sqlite_schema WHERE name = 'audit_topics'").fetchall()


async def test_commits_go_on_if_the_index_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: object) -> bool:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr("backends.sqlite.store.index_topics", broken)
    with closing(SqliteStore(tmp_path)) as store:
        await store.commit([entry(1)])
        await store.commit([entry(2)])
    assert "not indexed by topics for now: disk I/O error" in caplog.text


def test_an_older_database_gets_the_log(tmp_path: Path) -> None:
    SqliteStore(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "records.db")) as database:
        database.execute("DROP TABLE audit")
    with closing(SqliteStore(tmp_path)) as store, closing(store.audit_reader()) as reader:
        assert reader.span() == AuditSpan()


def test_a_log_that_cannot_be_read_has_an_error_of_its_own(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path)) as store, closing(store.audit_reader()) as reader:
        with closing(sqlite3.connect(tmp_path / "records.db")) as database:
            database.execute("DROP TABLE audit")
        for read in (reader.newest, reader.oldest):
            with pytest.raises(AuditLogError, match="the audit log cannot be read: no such table: audit"):
                read(AuditFilter(), 1)
