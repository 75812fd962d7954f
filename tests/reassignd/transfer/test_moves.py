"""Records are moved between a data directory, a state topic and a file, and a move can be repeated."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from backends.sqlite.store import SqliteStore
from backends.state_topic.history import DECODED_PER_SLICE
from backends.state_topic.state_rows import META_KEY
from common.json.models import decode_foreign
from common.tasks import cancel
from controller.model.audit import AuditFilter
from controller.model.cluster import Paused, Pending
from reassignd.config.errors import CommandError
from reassignd.runtime.storage.records import open_store
from reassignd.transfer import moves
from reassignd.transfer.moves import existing, target
from server.gateway.port_assignments import PortAssignments
from tests.reassignd.transfer.builders import CLUSTER, RECORDS, Cluster, a_directory, an_entry


async def moved_in(tmp_path: Path, cluster: Cluster) -> Path:
    source = await a_directory(tmp_path / "d")
    await moves.import_directory(cluster.topic(), source)
    return source


async def test_a_directory_is_moved_to_the_topic_and_back(tmp_path: Path) -> None:
    cluster = Cluster()
    source = await a_directory(tmp_path / "d")
    done = await moves.import_directory(cluster.topic(), source)
    assert done == f"moved 3 records from {source} to the state topic state"
    back = tmp_path / "back"
    assert "moved the records" in await moves.export_to_directory(cluster.topic(), back)
    with closing(SqliteStore(back)) as store, closing(store.audit_reader()) as reader:
        assert set(store.load()) == set(RECORDS)
        assert reader.newest(AuditFilter(), 9) == [an_entry(3), an_entry(2), an_entry(1)]
    assert PortAssignments(back).positions == {4: 1}
    assert (back / "meta.properties").read_text() == _without_mark(source)


def _without_mark(source: Path) -> str:
    lines = (source / "meta.properties").read_text().splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("moved."))


async def test_a_moved_directory_is_not_served(tmp_path: Path) -> None:
    source = await moved_in(tmp_path, Cluster())
    with pytest.raises(CommandError, match="were moved to the state topic state of cluster upstream-1"):
        open_store(source)


async def test_a_move_in_can_be_repeated_after_an_interruption(tmp_path: Path) -> None:
    cluster = Cluster()
    source = await moved_in(tmp_path, cluster)
    (source / "meta.properties").write_text(_without_mark(source))
    before = len(cluster.audit.log.batches)
    assert "moved 3 records" in await moves.import_directory(cluster.topic(), source)
    assert len(cluster.audit.log.batches) == before
    again = await moves.import_directory(cluster.topic(), source)
    assert again.endswith("were moved to the state topic state of cluster upstream-1 before")


async def test_a_topic_with_other_records_is_not_replaced(tmp_path: Path) -> None:
    cluster = Cluster()
    await moved_in(tmp_path, cluster)
    other = await a_directory(tmp_path / "other", records=[Paused(True)])
    with pytest.raises(CommandError, match=r"state has records already: set state\.topic"):
        await moves.import_directory(cluster.topic(), other)


async def test_records_of_another_cluster_are_refused(tmp_path: Path) -> None:
    source = await a_directory(tmp_path / "d")
    with pytest.raises(CommandError, match="are those of cluster upstream-1, not of upstream-2"):
        await moves.import_directory(Cluster("upstream-2").topic(), source)


async def test_a_move_out_can_be_repeated_after_an_interruption(tmp_path: Path) -> None:
    cluster = Cluster()
    await moved_in(tmp_path, cluster)
    back = tmp_path / "back"
    rows = list(await moves.export_topic(cluster.topic()))
    await moves.export_to_directory(cluster.topic(), back)
    fresh = Cluster()
    await moves.recreate(fresh.topic(), rows)
    assert "moved the records" in await moves.export_to_directory(fresh.topic(), back)
    assert f"were moved to {back} before" in await moves.export_to_directory(fresh.topic(), back)


async def test_what_an_interrupted_move_has_left_is_replaced(tmp_path: Path) -> None:
    cluster = Cluster()
    await moved_in(tmp_path, cluster)
    left = tmp_path / "left"
    with closing(SqliteStore(left)) as store:
        await store.commit([Paused(False)])  # the identity is written last
    await moves.export_to_directory(cluster.topic(), left)
    with closing(SqliteStore(left)) as store:
        assert set(store.load()) == set(RECORDS)


async def count_turns(counts: list[int]) -> None:
    """Begin a new count with each turn of the event loop."""
    while True:
        counts.append(0)
        await asyncio.sleep(0)


async def test_beats_go_on_while_many_records_are_decoded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many, turns = [Pending("foo", number, (1,), 1) for number in range(5_000)], [0]

    def counted(*arguments: Any) -> Any:
        turns[-1] += 1
        return decode_foreign(*arguments)

    cluster = Cluster()
    await moves.import_directory(cluster.topic(), await a_directory(tmp_path / "d", records=many))
    monkeypatch.setattr("backends.state_topic.state_rows.decode_foreign", counted)
    beside = asyncio.create_task(count_turns(turns))
    await moves.export_to_directory(cluster.topic(), tmp_path / "back")
    await cancel(beside)
    # The key and the value of each row, and a few rows that are no records.
    assert (max(turns) // DECODED_PER_SLICE, sum(turns) // 2 // len(many)) == (2, 1)


async def test_a_directory_with_other_records_is_not_replaced(tmp_path: Path) -> None:
    cluster = Cluster()
    await moved_in(tmp_path, cluster)
    other = await a_directory(tmp_path / "other", records=[Paused(True)])
    with pytest.raises(CommandError, match="has other records: choose another directory"):
        await moves.export_to_directory(cluster.topic(), other)


async def test_the_topic_of_a_move_out_takes_records_again(tmp_path: Path) -> None:
    cluster = Cluster()
    await moved_in(tmp_path, cluster)
    back = tmp_path / "back"
    await moves.export_to_directory(cluster.topic(), back)
    with closing(SqliteStore(back)) as store:
        await store.commit([Paused(False)])
    assert "moved" in await moves.import_directory(cluster.topic(), back)
    topic = cluster.topic()
    await topic.read()
    assert topic.rows[b'["paused",0]'] == b'{"paused":false}'
    assert b'"moved_to":""' in topic.rows[META_KEY]


async def test_an_empty_topic_is_not_exported(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="state has no records: no instance was active yet"):
        await moves.export_topic(Cluster().topic())
    with pytest.raises(CommandError, match="state has no records: no instance was active yet"):
        await moves.export_to_directory(Cluster().topic(), tmp_path / "d")


async def test_a_topic_is_made_again_from_its_export(tmp_path: Path) -> None:
    cluster, again = Cluster(), Cluster()
    await moved_in(tmp_path, cluster)
    lines = list(await moves.export_topic(cluster.topic()))
    assert lines[0].startswith(b'{"key":["meta"],')
    assert await moves.recreate(again.topic(), lines) == "wrote 6 rows to the state topic state"
    assert list(await moves.export_topic(again.topic())) == lines
    with pytest.raises(CommandError, match="has records already: delete the topic first"):
        await moves.recreate(again.topic(), lines)


async def test_a_directory_is_exported_without_a_change(tmp_path: Path) -> None:
    source = await a_directory(tmp_path / "d")
    lines = list(moves.export_directory(source))
    again = Cluster()
    await moves.recreate(again.topic(), lines)
    assert list(await moves.export_topic(again.topic())) == lines
    open_store(source).close()


async def test_the_contents_of_a_directory_are_read(tmp_path: Path) -> None:
    with existing(await a_directory(tmp_path / "d")) as directory:
        contents = directory.read()
        assert list(directory.entries()) == [[an_entry(1), an_entry(2), an_entry(3)]]
    assert (set(contents.records), contents.ports) == (set(RECORDS), {4: 1})
    assert (contents.newest_entry, contents.meta.upstream_cluster_id) == (an_entry(3), CLUSTER)


def test_a_directory_without_records_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"has no records \(records.db is missing\)"), existing(tmp_path):
        pass


async def test_the_records_of_another_backend_are_refused(tmp_path: Path) -> None:
    path = await a_directory(tmp_path / "d")
    (path / "meta.properties").write_text("cluster.id=a\nbackend=embedded\n")
    with existing(path) as directory, pytest.raises(CommandError, match="no records of a gateway"):
        directory.read()


async def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    path = await a_directory(tmp_path / "d")
    with existing(path), pytest.raises(CommandError, match="is in use by process"), existing(path):
        pass


async def test_the_file_of_an_older_version_must_be_read_by_serve_first(tmp_path: Path) -> None:
    path = await a_directory(tmp_path / "d")
    (path / "throttles.json").write_text("{}")
    with existing(path) as directory, pytest.raises(CommandError, match="start `reassignd serve` once on"):
        directory.read()


def test_a_new_directory_is_created(tmp_path: Path) -> None:
    with target(tmp_path / "new") as directory:
        assert directory.is_empty
