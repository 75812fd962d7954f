import pytest

from backends.memory import MemoryStore
from backends.upstream.records import OwnRecords
from controller.model.cluster import (
    Broker,
    Change,
    Config,
    Deleted,
    Partition,
    Reassignment,
    ResourceType,
    Topic,
    UpstreamStep,
)
from tests.builders import key, partition

TOPIC = Topic("foo", bytes(16))
WANTED = Reassignment("foo", 0, (1,), (2,), 1)
LIMIT = Config(ResourceType.BROKER, "", "reassignment.health.guard", "off")
THEIRS = Config(ResourceType.TOPIC, "foo", "min.insync.replicas", "2")
RATE = Config(ResourceType.BROKER, "1", "leader.replication.throttled.rate", "2")


@pytest.mark.parametrize("ours", [TOPIC, WANTED, LIMIT, UpstreamStep("foo", 0, (1,), (2,))])
async def test_own_records_are_stored(ours: Change) -> None:
    store = MemoryStore()
    await OwnRecords(store).commit([ours])
    assert list(OwnRecords(store).load()) == [ours]


@pytest.mark.parametrize(
    "theirs",
    [
        partition("foo-0", (1,)),
        Broker(1, "localhost", 9092, None, 0),
        THEIRS,
        RATE,
        Deleted(Partition, key("foo-0")),
        Deleted(Broker, 1),
        Deleted(Config, THEIRS.key),
    ],
)
async def test_records_of_the_upstream_are_not_stored(theirs: Change) -> None:
    store = MemoryStore()
    await OwnRecords(store).commit([theirs])
    assert store.commits == [[]]


async def test_stored_records_can_be_deleted() -> None:
    store = MemoryStore()
    own = OwnRecords(store)
    await own.commit([LIMIT, WANTED])
    await own.commit([Deleted(Config, LIMIT.key), Deleted(Reassignment, key("foo-0"))])
    assert list(own.load()) == []
