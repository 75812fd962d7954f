"""Division of changes into multis, by the bytes that they write."""

from hypothesis import given
from hypothesis import strategies as st

from backends.zookeeper.store.multis import (
    MULTI_BYTES,
    MULTI_CHANGES,
    MultiSpace,
    batched,
    fits,
    fits_topic,
    pieces_of,
)
from backends.zookeeper.store.records import ChunkData
from backends.zookeeper.store.transaction import ZnodeTransaction
from backends.zookeeper.store.znode_cache import StoredConfig, StoredTopic, ZnodeCache
from controller.model.cluster import NO_ID, Change, Config, Deleted, Partition, ResourceType, Topic

ID = b"\5" * 16


def cache(topics: int, partitions: int, replicas: tuple[int, ...] = (1001, 1002, 1003)) -> ZnodeCache:
    result = ZnodeCache()
    for name in (f"t{number}" for number in range(topics)):
        rows = [Partition(name, n, replicas, replicas, replicas[0], 0, 0) for n in range(partitions)]
        result.topics[name] = StoredTopic(0, NO_ID, rows, partitions)
    return result


def bytes_of(batch: list[Change], known: ZnodeCache) -> int:
    transaction = ZnodeTransaction(known, 1, with_topic_ids=True)
    transaction.apply(batch)
    return sum(
        len(each.path) + 50 + len(getattr(each, "data", None) or b"") for each in transaction.operations()
    )


@given(st.integers(1, 5), st.integers(1, 200), st.integers(1, 6), st.booleans())
def test_the_estimate_is_no_less_than_the_written_bytes(
    topics: int, partitions: int, replicas: int, step: bool
) -> None:
    known = cache(topics, partitions, tuple(range(1001, 1001 + replicas)))
    changes: list[Change] = [Topic(name, ID) for name in known.topics]
    if step:
        rows = [each.partitions[-1] for each in known.topics.values()]
        changes = [
            p._replace(replicas=(*p.replicas, 9), adding=(9,), leader_epoch=1, partition_epoch=1)
            for p in rows
        ]
    room = MultiSpace(known)
    taken = [change for change in changes if room.take(change)]
    assert bytes_of(taken, known) <= room.bytes


def test_rewritten_topics_count_with_their_whole_znode() -> None:
    known = cache(60, 1_000)
    batches = list(batched([Topic(name, ID) for name in known.topics], known))
    assert sum(map(len, batches)) == 60
    assert len(batches) > 1


def test_many_states_fit_into_one_multi() -> None:
    known = cache(MULTI_CHANGES, 500)
    rows = [each.partitions[0] for each in known.topics.values()]
    changes = [each._replace(leader=1002, leader_epoch=1, partition_epoch=1) for each in rows]
    assert list(batched(changes, known)) == [changes]
    assert len(list(batched([*changes, *changes], known))) == 2


def test_a_changed_entity_counts_with_its_whole_znode() -> None:
    known = ZnodeCache()
    for name in "ab":
        known.configs[f"topics/{name}"] = StoredConfig(1, {"long": "x" * (MULTI_BYTES // 2)})
    changes: list[Change] = [
        Config(ResourceType.TOPIC, "a", "retention.ms", "1"),
        Deleted(Config, (ResourceType.TOPIC, "a", "retention.ms")),
        Config(ResourceType.TOPIC, "b", "retention.ms", "1"),
    ]
    assert list(batched(changes, known)) == [changes[:2], changes[2:]]


def test_a_topic_is_not_deleted_and_created_in_one_multi() -> None:
    changes: list[Change] = [Deleted(Topic, "foo"), Topic("bar", NO_ID), Topic("foo", NO_ID)]
    assert list(batched(changes, ZnodeCache())) == [changes[:2], changes[2:]]


def test_chunks_share_the_space_with_the_changes() -> None:
    known = cache(10, 1_000)
    changes: list[Change] = [Topic(name, ID) for name in known.topics]
    data = ChunkData({"/a": b"x" * 300_000, "/b": b"x" * 150_000, "/c": b"x" * 150_000})
    assert fits(changes, ChunkData(), known)
    assert not fits(changes, data, known)
    assert [list(each) for each in pieces_of(data)] == [["/a", "/b"], ["/c"]]


def test_a_topic_fits_if_its_znode_fits_into_one_request() -> None:
    assert fits_topic(10_000, 30_000)
    assert not fits_topic(10_000, 50_000)
    assert not fits_topic(30_000, 30_000)
