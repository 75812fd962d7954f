from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from backends.memory import MemoryStore
from backends.sqlite.datadir import StoreError
from controller.model.cluster import Change, Record, Topic
from reassignd.errors import CommandError
from reassignd.runtime.storage.identity import cluster_id
from reassignd.runtime.storage.records import RECORDS_PER_SLICE, load, open_store
from tests.builders import partition


def topics(count: int) -> Iterable[Topic]:
    return (Topic(f"t{number}", number.to_bytes(16)) for number in range(count))


class Damaged(MemoryStore):
    def load(self) -> Iterator[Record]:
        yield from topics(1)
        raise StoreError("records are damaged")


async def test_any_number_of_records_is_loaded() -> None:
    commit: Sequence[Change] = list(topics(2 * RECORDS_PER_SLICE + 1))
    state = await load(MemoryStore([commit]))
    assert len(state.topics) == 2 * RECORDS_PER_SLICE + 1


async def test_damaged_records_are_refused() -> None:
    with pytest.raises(CommandError, match="records are damaged"):
        await load(Damaged())


class Contradicting(MemoryStore):
    def load(self) -> Iterator[Record]:
        yield partition("foo-0", [1])


async def test_records_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(CommandError, match=r"contradict each other \(KeyError\('foo'\)\); restore"):
        await load(Contradicting())


@pytest.mark.parametrize("left", [b"", b"S"])
def test_a_directory_without_its_database_is_refused(tmp_path: Path, left: bytes) -> None:
    open_store(tmp_path).close()
    cluster_id(tmp_path)
    (tmp_path / "records.db").write_bytes(left)
    with pytest.raises(
        CommandError, match=r"records.db is missing or empty, though there is a meta.properties"
    ):
        open_store(tmp_path)


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with pytest.raises(CommandError, match="in use by process"):
        open_store(tmp_path)
    store.close()
    open_store(tmp_path).close()
