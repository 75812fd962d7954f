from collections.abc import AsyncIterator
from dataclasses import astuple, replace

import pytest

from backends.embedded.cluster import Listener, Settings
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.cluster import ResourceType
from controller.model.configs import (
    LEADER_RATE,
    LEADER_REPLICAS,
    LOG_DIRS_RATE,
    PARTITION_BYTES,
    PRODUCE_RATE,
    ConfigChange,
    ConfigOp,
)
from protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from tests.backends.harness import SETTINGS, EmbeddedHarness
from tests.builders import key


@pytest.fixture
async def harness() -> AsyncIterator[EmbeddedHarness]:
    harness = await EmbeddedHarness().start()
    yield harness
    await harness.stop()


async def configure(
    harness: EmbeddedHarness, resource: ResourceType, name: str, **values: str | None
) -> None:
    changes = [
        ConfigChange(config.replace("_", "."), ConfigOp.DELETE if value is None else ConfigOp.SET, value)
        for config, value in values.items()
    ]
    [outcome] = await harness.do(AlterConfigs([ResourceChanges(resource, name, changes)]))
    assert outcome.ok


async def test_brokers_register_with_their_racks_and_epochs(harness: EmbeddedHarness) -> None:
    assert {broker.id: broker.rack for broker in harness.state.cluster.brokers.values()} == {
        1: "rack-a", 2: "rack-b", 3: "rack-c", 4: "rack-a", 5: "rack-b", 6: "rack-c",
    }  # fmt: skip
    assert all(
        harness.cluster.brokers[id_].epoch == known.epoch
        for id_, known in harness.state.cluster.brokers.items()
    )


async def test_start_fails_and_closes_all_ports_when_a_port_is_in_use() -> None:
    harness = EmbeddedHarness()
    taken, listen = OSError("in use"), harness.network.listen

    async def fail_at_three(broker: object) -> Listener:
        if broker is harness.cluster.brokers[3]:
            raise taken
        return await listen(harness.cluster.brokers[1])

    harness.cluster._listen = fail_at_three
    with pytest.raises(OSError, match="in use"):
        await harness.start()
    assert harness.network.listening == {}
    await harness.stop()


async def test_a_move_takes_as_long_as_the_network_needs_for_its_bytes(harness: EmbeddedHarness) -> None:
    await harness.having({"foo-0": [1]}, embedded_partition_bytes="3000000")
    await harness.alter({"foo-0": [2]})
    assert await harness.until_idle() == pytest.approx(3.0, abs=0.3)


async def test_a_configured_size_applies_at_once(harness: EmbeddedHarness) -> None:
    await harness.having({"foo-0": [1]})
    await configure(harness, ResourceType.TOPIC, "foo", embedded_partition_bytes="2000000")
    assert harness.progress("foo-0") == {1: 2_000_000}
    await configure(harness, ResourceType.TOPIC, "foo", embedded_partition_bytes=None)
    assert harness.progress("foo-0") == {1: 1_000_000}


async def test_produced_data_adds_to_the_size(harness: EmbeddedHarness) -> None:
    await harness.having({"foo-0": [1, 2]})
    harness.progress("foo-0")
    await configure(harness, ResourceType.TOPIC, "foo", embedded_produce_bytes_per_second="1000")
    await harness.advance(5)
    await configure(harness, ResourceType.TOPIC, "foo", embedded_produce_bytes_per_second="0")
    await harness.advance(5)
    assert harness.progress("foo-0")[2] == 1_005_000


async def test_progress_shows_the_bytes_of_a_replica_that_is_being_added(harness: EmbeddedHarness) -> None:
    await harness.having({"foo-0": [1]})
    await harness.alter({"foo-0": [2]})
    await harness.advance(0.5)
    assert harness.progress("foo-0")[2] == pytest.approx(500_000, rel=0.1)


async def test_size_is_that_of_a_complete_replica_and_other_brokers_have_nothing(
    harness: EmbeddedHarness,
) -> None:
    await harness.having({"foo-0": [1]})
    cluster = harness.cluster
    assert (cluster.size(key("foo-0")), cluster.arrived(key("foo-0"), 2)) == (1_000_000, None)
    assert cluster.arrived(key("foo-0"), 99) is None


async def test_an_unexpected_error_is_reported(
    harness: EmbeddedHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness.cluster.brokers[1].log_dirs, "tick", broken)
    await harness.advance(1)
    [failure] = harness.failures
    assert str(failure) == "unforeseen"
    harness.failures.clear()


def broken(*_: object) -> None:
    raise RuntimeError("unforeseen")


async def test_throttles_apply_while_they_are_configured(
    harness: EmbeddedHarness,
) -> None:
    await harness.having({"foo-0": [1]})
    await configure(harness, ResourceType.TOPIC, "foo", **{LEADER_REPLICAS: "*"})
    await configure(harness, ResourceType.BROKER, "1", **{LEADER_RATE: "1000"})
    await harness.alter({"foo-0": [2]})
    await harness.advance(5)
    assert harness.progress("foo-0")[2] == pytest.approx(5_000, rel=0.1)
    await configure(harness, ResourceType.TOPIC, "foo", **{LEADER_REPLICAS: None})
    assert await harness.until_idle() < 1.2


async def test_bytes_of_reassignments_are_counted_by_broker(harness: EmbeddedHarness) -> None:
    await harness.having({"foo-0": [1]})
    await harness.alter({"foo-0": [2]})
    await harness.until_idle()
    assert astuple(harness.cluster.traffic[1]) == pytest.approx((0, 1e6, 0, 1e6))
    assert astuple(harness.cluster.traffic[2]) == pytest.approx((1e6, 0, 1e6, 0))


async def test_a_stuck_follower_leaves_the_isr_and_returns_when_it_recovers(harness: EmbeddedHarness) -> None:
    await harness.having({"foo-0": [1, 2], "foo-1": [3, 4]})
    harness.cluster.slow_broker(2, 0)
    await harness.advance(SETTINGS.replica_lag_time_seconds - 1)
    assert harness["foo-0"].isr == (1, 2)
    await harness.advance(2)
    assert [harness["foo-0"].isr, harness["foo-1"].isr] == [(1,), (3, 4)]
    harness.cluster.slow_broker(2, 1)
    await harness.until(lambda: harness["foo-0"].isr == (1, 2), 2)


async def test_a_slow_follower_leaves_the_isr_only_if_it_cannot_keep_up(harness: EmbeddedHarness) -> None:
    await harness.having({"foo-0": [1, 2]}, embedded_produce_bytes_per_second="20000")
    harness.cluster.slow_broker(2, 0.1)
    await harness.advance(60)
    assert harness["foo-0"].isr == (1, 2)
    harness.cluster.slow_broker(2, 0.01)
    await harness.until(lambda: harness["foo-0"].isr == (1,))
    harness.cluster.slow_broker(2, 1)
    await harness.until(lambda: harness["foo-0"].isr == (1, 2))


async def test_a_broker_that_recovers_in_time_stays_in_the_isr(harness: EmbeddedHarness) -> None:
    await harness.having({"foo-0": [1, 2]})
    harness.cluster.slow_broker(2, 0)
    await harness.advance(10)
    harness.cluster.slow_broker(2, 1)
    await harness.advance(40)
    assert harness["foo-0"].isr == (1, 2)


async def test_a_failed_disk_moves_the_leadership_and_its_replacement_restores_the_replica(
    harness: EmbeddedHarness,
) -> None:
    await harness.having({"foo-0": [1, 2]})
    path = harness.cluster.brokers[1].log_dirs.find(key("foo-0")) or ""
    await harness.cluster.fail_log_dir(1, path)
    assert (harness["foo-0"].leader, harness["foo-0"].isr) == (2, (2,))
    await harness.stop_broker(1)
    await harness.cluster.start_broker(1)
    assert await harness.until(lambda: set(harness["foo-0"].isr) == {1, 2}) == pytest.approx(1.0, abs=0.3)


async def test_a_fault_that_cannot_be_is_named(harness: EmbeddedHarness) -> None:
    with pytest.raises(ValueError, match=r"broker 1 has no log directory /x: it has /.+, /"):
        await harness.cluster.fail_log_dir(1, "/x")
    with pytest.raises(ValueError, match="the factor must be 0 or more, not -1"):
        harness.cluster.slow_broker(1, -1)
    with pytest.raises(ValueError, match="there is no broker 99: there are 1, 2"):
        harness.cluster.slow_broker(99, 1)
    with pytest.raises(ValueError, match="there is no broker 99"):
        await harness.cluster.start_broker(99)


def move_to_the_other_directory(harness: EmbeddedHarness) -> tuple[str | None, str]:
    """Let broker 1 move foo-0 to its other directory; return the present one and the other."""
    broker = harness.cluster.brokers[1]
    paths = list(broker.log_dirs.placed)
    before = broker.log_dirs.find(key("foo-0"))
    wanted = paths[1 - paths.index(before or "")]
    topics = [AlterReplicaLogDirTopic("foo", (0,))]
    broker.alter_replica_log_dirs(AlterReplicaLogDirsRequest([AlterReplicaLogDir(wanted, topics)]))
    return before, wanted


def copied(harness: EmbeddedHarness) -> list[float]:
    return [future.log.position or 0.0 for _, future in harness.cluster.brokers[1].log_dirs.futures()]


async def test_a_replica_moves_between_directories_at_disk_speed(harness: EmbeddedHarness) -> None:
    await harness.having({"foo-0": [1]})
    before, wanted = move_to_the_other_directory(harness)
    log_dirs = harness.cluster.brokers[1].log_dirs
    assert log_dirs.find(key("foo-0")) == before
    await harness.advance(0.2)
    assert log_dirs.find(key("foo-0")) == wanted


@pytest.mark.parametrize("name", ["1", ""])
async def test_moves_between_directories_have_a_throttle(harness: EmbeddedHarness, name: str) -> None:
    await harness.having({"foo-0": [1]})
    await configure(harness, ResourceType.BROKER, name, **{LOG_DIRS_RATE: "1000"})
    move_to_the_other_directory(harness)
    await harness.advance(5)
    assert copied(harness) == [pytest.approx(5_000, rel=0.1)]
    await configure(harness, ResourceType.BROKER, name, **{LOG_DIRS_RATE: None})
    await harness.advance(0.2)
    assert copied(harness) == []


async def test_a_stopped_broker_moves_nothing_between_directories(harness: EmbeddedHarness) -> None:
    await harness.having({"foo-0": [1]})
    await configure(harness, ResourceType.BROKER, "1", **{LOG_DIRS_RATE: "1000"})
    move_to_the_other_directory(harness)
    await harness.stop_broker(1)
    before = copied(harness)
    await harness.advance(5)
    assert copied(harness) == before
    await harness.cluster.start_broker(1)
    await harness.advance(5)
    assert copied(harness) > before


async def test_only_running_brokers_can_be_stopped_and_only_stopped_ones_started(
    harness: EmbeddedHarness,
) -> None:
    with pytest.raises(ValueError, match="broker 2 is running already"):
        await harness.cluster.start_broker(2)
    await harness.stop_broker(2)
    with pytest.raises(ValueError, match="broker 2 is not running"):
        await harness.stop_broker(2)


async def test_brokers_find_the_controller_after_its_address_has_changed(harness: EmbeddedHarness) -> None:
    await harness.having({"foo-0": [2]})
    await harness.stop_broker(1, controlled=False)
    await harness.alter({"foo-0": [3]})
    await harness.until_idle()
    assert harness.replicas("foo-0") == (3,)


async def test_after_a_restart_isr_members_have_all_data_and_others_none() -> None:
    harness = await EmbeddedHarness(settings=replace(SETTINGS, partition_bytes=2_000_000)).start()
    await harness.having({"foo-0": [1]})
    await harness.alter({"foo-0": [2]})
    await harness.advance(1)
    again = await harness.restarted()
    assert again.progress("foo-0") == {1: 2_000_000, 2: 0}
    await again.until_idle()
    await again.stop()


def test_the_topic_configs_are_those_that_the_controller_accepts() -> None:
    assert (PARTITION_BYTES, PRODUCE_RATE) == (
        "embedded.partition.bytes",
        "embedded.produce.bytes.per.second",
    )


def test_brokers_are_in_racks_by_turns() -> None:
    assert [Settings(racks=3).rack(broker) for broker in (1, 2, 3, 4)] == [
        "rack-a",
        "rack-b",
        "rack-c",
        "rack-a",
    ]
