"""Writing and loading of chunks: records keep their values and their order."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.zookeeper.session.tree import Create, Delete, ensure
from backends.zookeeper.store import records as ledgers
from backends.zookeeper.store.records import (
    CHUNK_FORMS,
    CHUNK_RECORDS,
    RecordChunks,
    decode_chunks,
    encode_chunks,
    read_row,
)
from backends.zookeeper.znodes.fields import ZnodeError, encode
from controller.model.cluster import (
    Change,
    Deleted,
    Ending,
    Finished,
    Job,
    JobKind,
    Paused,
    Pending,
    Reassignment,
    Record,
    ResourceType,
    ThrottleLease,
    Topic,
    TopicPartition,
)
from controller.model.disks import DiskMove, MoveStage
from controller.model.held_requests import HeldRequest, HeldState
from controller.model.limits import PlanLimits
from controller.model.load_hours import LoadHours
from controller.model.tasks import DryRun, UserTask
from tests.backends.zookeeper.memory_tree import MemoryTree

NAMES = st.text(min_size=1, max_size=10)
NUMBERS = st.integers(0, 99)
REPLICAS = st.lists(NUMBERS).map(tuple)
RECORDS = st.one_of(
    st.builds(Reassignment, NAMES, NUMBERS, REPLICAS, REPLICAS, NUMBERS, NAMES, NAMES),
    st.builds(
        Job,
        NUMBERS,
        st.sampled_from(JobKind),
        NUMBERS,
        NAMES,
        st.none() | NAMES,
        limits=st.builds(PlanLimits, partitions=NUMBERS),
    ),
    st.builds(Finished, NUMBERS, NAMES, NUMBERS, REPLICAS, REPLICAS, st.sampled_from(Ending), NUMBERS),
    st.builds(Pending, NAMES, NUMBERS, REPLICAS, NUMBERS, NAMES),
    st.builds(Paused, st.booleans()),
    st.builds(ThrottleLease, st.sampled_from(ResourceType), NAMES, NAMES, NAMES, st.none() | NAMES),
    st.builds(UserTask, NAMES, NUMBERS, NAMES, NAMES, NAMES, NAMES, st.booleans(), st.booleans(), NAMES),
    st.builds(DryRun, NAMES, NAMES, NUMBERS, NUMBERS, NAMES, NAMES),
    st.builds(HeldRequest, NUMBERS, NUMBERS, *[NAMES] * 5, st.sampled_from(HeldState), NAMES, NAMES),
    st.builds(LoadHours, NUMBERS, NUMBERS, NAMES, NAMES),
    st.builds(
        DiskMove, NUMBERS, NAMES, NUMBERS, NUMBERS, NAMES, NAMES, NUMBERS, st.sampled_from(MoveStage), NAMES
    ),
)


@given(RECORDS)
def test_an_encoded_record_is_decoded(record: Record) -> None:
    read = read_row(type(record), json.loads(encode(list(record))))
    assert (type(read), read) == (type(record), record)


@pytest.mark.parametrize("kind", CHUNK_FORMS)
@pytest.mark.parametrize("row", [None, [], [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4], "abc", {}])
def test_an_invalid_row_is_an_error(kind: type[Record], row: object) -> None:
    with pytest.raises(ZnodeError, match=f"is not a {kind.__name__}"):
        read_row(kind, row)


def test_rows_of_before_topics_had_ids_are_read() -> None:
    assert read_row(Reassignment, ["foo", 0, [1], [2], 3, ""]) == Reassignment("foo", 0, (1,), (2,), 3)
    assert read_row(Pending, ["foo", 0, [2], 3]) == Pending("foo", 0, (2,), 3)


Step = tuple[bool, int, int]
"""Put or delete, the partition, and its target."""

STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 12), st.integers(1, 3)), max_size=60)


def wanted(partition: int, target: int = 1) -> Reassignment:
    return Reassignment("foo", partition, (9,), (target,))


def changes(steps: list[Step]) -> list[Change]:
    return [
        wanted(number, target) if put else Deleted(Reassignment, TopicPartition("foo", number))
        for put, number, target in steps
    ]


async def write(tree: MemoryTree, chunks: RecordChunks) -> None:
    data = chunks.take_changed()
    await tree.multi(chunks.operations(data))
    chunks.written(data)


async def read_json(tree: MemoryTree) -> RecordChunks:
    again = RecordChunks()
    for folder in ledgers.chunk_parents():
        for name in await tree.children(folder) or []:
            znode = await tree.get(f"{folder}/{name}")
            assert znode is not None
            again.read(f"{folder}/{name}", znode.data)
    return again


@given(st.lists(STEPS, max_size=6))
async def test_loaded_records_are_those_that_were_put(rounds: list[list[Step]]) -> None:
    tree, chunks, expected = MemoryTree(), RecordChunks(), dict[TopicPartition, Reassignment]()
    await ensure(tree, *ledgers.chunk_parents())
    whole, ledgers.CHUNK_RECORDS = ledgers.CHUNK_RECORDS, 3
    try:
        for steps in rounds:
            for change in changes(steps):
                chunks.apply(change)
                if isinstance(change, Reassignment):
                    expected[change.key] = change
                elif isinstance(change, Deleted) and isinstance(change.key, TopicPartition):
                    expected.pop(change.key, None)
            await write(tree, chunks)
        assert list((await read_json(tree)).records()) == list(chunks.records()) == list(expected.values())
    finally:
        ledgers.CHUNK_RECORDS = whole


def test_a_change_writes_only_its_chunk() -> None:
    chunks = RecordChunks()
    for number in range(2 * CHUNK_RECORDS + 1):
        chunks.apply(wanted(number))
    chunks.written(data := chunks.take_changed())
    assert len(data) == 3
    chunks.apply(wanted(CHUNK_RECORDS + 5, 7))
    assert list(chunks.take_changed()) == ["/reassignd/reassignments/0000000001"]


def test_an_empty_chunk_is_deleted_if_it_exists() -> None:
    chunks = RecordChunks()
    chunks.apply(wanted(0))
    chunks.apply(Deleted(Reassignment, wanted(0).key))
    assert chunks.operations(chunks.take_changed()) == []
    chunks.apply(Paused(True))
    data = chunks.take_changed()
    assert [type(each) for each in chunks.operations(data)] == [Create]
    chunks.written(data)
    chunks.apply(Deleted(Paused, ()))
    assert [type(each) for each in chunks.operations(chunks.take_changed())] == [Delete]


def test_removing_a_missing_record_changes_nothing() -> None:
    chunks = RecordChunks()
    chunks.apply(Deleted(Reassignment, wanted(0).key))
    assert chunks.take_changed() == {}


def test_records_of_kafka_are_not_kept_in_chunks() -> None:
    assert RecordChunks.keeps(wanted(0))
    assert RecordChunks.keeps(Deleted(Reassignment, wanted(0).key))
    assert not RecordChunks.keeps(Topic("foo", bytes(16)))


@pytest.mark.parametrize("path", ["/reassignd/jobs/x", "/reassignd/nothing/0", "/reassignd/jobs/0"])
def test_an_invalid_chunk_is_an_error(path: str) -> None:
    with pytest.raises(ZnodeError):
        RecordChunks().read(path, b'{"records":{}}')


def test_several_chunks_are_encoded_as_one_document() -> None:
    data = ledgers.ChunkData({"/a": b"{}", "/b": None})
    assert decode_chunks(encode_chunks(data)) == data
    with pytest.raises(ZnodeError):
        decode_chunks(b'{"/a":1}')
