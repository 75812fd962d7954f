"""Any interleaving of instances: nothing acknowledged is lost, and never may two instances send steps."""

from random import Random

import pytest

from backends.state_topic.history import History
from backends.state_topic.writer import MAX_BATCH_BYTES
from tests.backends.state_topic.simulation import Simulation

ACTIONS = 1_500

SEEDS = [pytest.param(seed, marks=[pytest.mark.whole] if seed >= 2 else []) for seed in range(50)]
"""Most of them run with the longer tests."""


def replayed(simulation: Simulation) -> History:
    history = History()
    history.apply(simulation.log.batches)
    return history


@pytest.mark.parametrize("batch_bytes", [MAX_BATCH_BYTES, 60], ids=["batches", "transactions"])
@pytest.mark.parametrize("forgets", [0.0, 0.3], ids=["one id", "forgotten ids"])
@pytest.mark.parametrize("seed", SEEDS)
async def test_acknowledged_rows_stay_and_only_one_instance_sends_steps(
    monkeypatch: pytest.MonkeyPatch, batch_bytes: int, forgets: float, seed: int
) -> None:
    monkeypatch.setattr("backends.state_topic.writer.MAX_BATCH_BYTES", batch_bytes)
    monkeypatch.setattr("backends.state_topic.writer.TRANSACTION_SECONDS", 3.0)
    simulation = Simulation(Random(seed), forgets=forgets)
    await simulation.run(ACTIONS)
    rows = replayed(simulation).rows
    assert [row.key for row in simulation.acknowledged if row.key not in rows] == []
    assert simulation.overlaps == 0


@pytest.mark.whole
async def test_the_simulation_has_take_overs_and_commits() -> None:
    simulations = [Simulation(Random(seed)) for seed in range(10)]
    for simulation in simulations:
        await simulation.run(ACTIONS)
    assert min(simulation.claims for simulation in simulations) >= 1
    assert sum(simulation.claims for simulation in simulations) > 20
    assert sum(len(simulation.acknowledged) for simulation in simulations) > 200


@pytest.mark.whole
async def test_without_the_lease_two_instances_send_steps() -> None:
    simulations = [Simulation(Random(seed), checks_lease=False) for seed in range(10)]
    for simulation in simulations:
        await simulation.run(ACTIONS)
    assert any(simulation.overlaps for simulation in simulations)
