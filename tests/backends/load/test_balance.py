"""What is measured, a plan by it, and what is measured afterwards, in an embedded cluster."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from common.tasks import cancel
from planner.model.snapshot import Broker, Load, Partition, Snapshot
from planner.proposing import propose_for, read_goal_options
from tests.backends.harness import SETTINGS, EmbeddedHarness
from tests.backends.load.test_sampling import RATE, TIMING, Sampled

BROKERS = 6
BY_LOAD = read_goal_options(["balance"], {"by": "in,leaders-in", "at": "now", "tolerance": "10%"})


@pytest.fixture
async def busy() -> AsyncIterator[Sampled]:
    """A cluster in which producers write to three of six brokers."""
    harness = await EmbeddedHarness(settings=replace(SETTINGS, tick_seconds=1.0)).start()
    await harness.having({f"busy-{each}": [1, 2, 3] for each in range(12)}, **RATE)
    sampled = Sampled(harness)
    yield sampled
    await cancel(sampled.task)
    await harness.stop()


def snapshot_of(busy: Sampled) -> Snapshot:
    """Return the cluster with what was measured."""
    partitions = {}
    for rows in busy.harness.state.cluster.partitions.values():
        for row in rows:
            key, rates = (row.topic, row.partition), busy.load.rates(row.topic, row.partition)
            assert rates is not None
            load = Load(*rates[: len(Load._fields)])
            partitions[key] = Partition(*key, row.current, row.isr, row.leader, 1, load=load)
    racks = busy.harness.state.cluster.brokers
    return Snapshot({each: Broker(each, racks[each].rack) for each in range(1, BROKERS + 1)}, partitions)


def skew(busy: Sampled) -> float:
    """Return what the broker with the most receives, by the mean of all."""
    rows = busy.load.by_broker()
    received = [(each.rates.bytes_in or 0) + (each.replication_in or 0) for each in rows]
    return max(received) * BROKERS / sum(received)


async def test_after_a_balance_by_load_the_measured_load_is_even(busy: Sampled) -> None:
    await busy.sampled(rounds=5)
    assert skew(busy) == pytest.approx(2)
    proposal = propose_for(snapshot_of(busy), BY_LOAD)
    await busy.harness.alter({f"{row.topic}-{row.partition}": new for row, new in proposal.changes.items()})
    await busy.harness.until_idle()
    await busy.harness.advance(TIMING.sample * 5)
    assert skew(busy) <= 1.1
    assert not propose_for(snapshot_of(busy), BY_LOAD).moves
