from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from backends.datadir import StoreError
from backends.memory import MemoryStore
from controller.model import Change, Record, Topic
from reassignd.errors import CommandError
from reassignd.records import RECORDS_PER_SLICE, load, open_store


def topics(count: int) -> Iterable[Topic]:
    return (Topic(f"t{number}", number.to_bytes(16)) for number in range(count))


class Damaged(MemoryStore):
    def load(self) -> Iterator[Record]:
        yield from topics(1)
        raise StoreError("records are damaged")


async def test_the_state_is_what_the_records_say_however_many() -> None:
    commit: Sequence[Change] = list(topics(2 * RECORDS_PER_SLICE + 1))
    state = await load(MemoryStore([commit]))
    assert len(state.topics) == 2 * RECORDS_PER_SLICE + 1


async def test_damaged_records_are_refused() -> None:
    with pytest.raises(CommandError, match="records are damaged"):
        await load(Damaged())


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with pytest.raises(CommandError, match="in use by process"):
        open_store(tmp_path)
    store.close()
    open_store(tmp_path).close()
