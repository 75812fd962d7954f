"""Any interleaving of instances: nothing acknowledged is lost, and never may two instances send steps."""

from random import Random

import pytest

from backends.state_topic.history import History
from backends.state_topic.writer import MAX_BATCH_BYTES
from tests.backends.state_topic.simulation import World

ACTIONS = 1_500

SEEDS = [pytest.param(seed, marks=[pytest.mark.whole] if seed >= 5 else []) for seed in range(50)]
"""Most of them run with the longer tests."""


def replayed(world: World) -> History:
    history = History()
    history.apply(world.log.batches)
    return history


@pytest.mark.parametrize("batch_bytes", [MAX_BATCH_BYTES, 60], ids=["batches", "transactions"])
@pytest.mark.parametrize("forgets", [0.0, 0.3], ids=["one id", "forgotten ids"])
@pytest.mark.parametrize("seed", SEEDS)
async def test_acknowledged_rows_stay_and_only_one_instance_sends_steps(
    monkeypatch: pytest.MonkeyPatch, batch_bytes: int, forgets: float, seed: int
) -> None:
    monkeypatch.setattr("backends.state_topic.writer.MAX_BATCH_BYTES", batch_bytes)
    world = World(Random(seed), forgets=forgets)
    await world.run(ACTIONS)
    rows = replayed(world).rows
    assert [row.key for row in world.acknowledged if row.key not in rows] == []
    assert world.overlaps == 0


async def test_the_simulation_has_take_overs_and_commits() -> None:
    worlds = [World(Random(seed)) for seed in range(10)]
    for world in worlds:
        await world.run(ACTIONS)
    assert min(world.claims for world in worlds) >= 1
    assert sum(world.claims for world in worlds) > 20
    assert sum(len(world.acknowledged) for world in worlds) > 200


async def test_without_the_lease_two_instances_send_steps() -> None:
    worlds = [World(Random(seed), checks_lease=False) for seed in range(10)]
    for world in worlds:
        await world.run(ACTIONS)
    assert any(world.overlaps for world in worlds)
