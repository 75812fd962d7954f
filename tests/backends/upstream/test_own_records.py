import json
from pathlib import Path

import pytest

from backends.memory import MemoryStore
from backends.sqlite.datadir import StoreError
from backends.upstream.own_records import FILE, OwnRecords, read_leases, remove
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
from controller.model.configs import LEADER_RATE, LEADER_REPLICAS, ThrottleLease
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


def test_the_file_of_an_older_version_is_converted_to_leases(tmp_path: Path) -> None:
    tables = {
        "topics": {"foo": {LEADER_REPLICAS: ["0:1", "0:2"]}},
        "brokers": {"1": {LEADER_RATE: ["5", "7"]}},
    }
    (tmp_path / FILE).write_text(json.dumps(tables, indent=1))
    assert read_leases(tmp_path) == [
        ThrottleLease(ResourceType.TOPIC, "foo", LEADER_REPLICAS, "0:1,0:2", None),
        ThrottleLease(ResourceType.BROKER, "1", LEADER_RATE, "5,7", None),
    ]
    remove(tmp_path)
    assert read_leases(tmp_path) is None


def test_a_file_without_throttles_is_read_and_removed_too(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"topics": {}, "brokers": {}}')
    assert read_leases(tmp_path) == []


def test_a_file_that_cannot_be_removed_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"throttles\.json cannot be removed"):
        remove(tmp_path)


def test_the_temporary_file_of_a_crashed_process_is_not_read(tmp_path: Path) -> None:
    (tmp_path / FILE).with_suffix(".new").write_text("{")
    assert read_leases(tmp_path) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"topics": {}, "brokers": []}',
        '{"topics": {"foo": []}, "brokers": {}}',
        '{"topics": {}, "brokers": {"1": {"leader.replication.throttled.rate": "5"}}}',
        '{"topics": {}, "brokers": {"1": {"rate": ["5"]}}}',
        '{"topics": {}, "brokers": {"one": {"leader.replication.throttled.rate": ["5"]}}}',
    ],
)
def test_the_error_for_an_invalid_file_names_it_and_the_remedy(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(
        StoreError, match=r"throttles\.json cannot be read .*kafka-configs, then remove the file"
    ):
        read_leases(tmp_path)
