"""Instances that share a state topic survive the end and the suspension of the active one; see `campaigns.survival`."""

import random
from pathlib import Path

import pytest

from campaigns.orders import SurvivalError
from campaigns.survival import survival

ROUNDS = 4


@pytest.mark.timeout(400)
async def test_nothing_is_lost_when_the_active_instance_is_killed_or_suspended(tmp_path: Path) -> None:
    seed = random.randrange(1_000_000)
    with survival(tmp_path, seed, without_lease=False) as run:
        try:
            await run.run(ROUNDS, print)
        except SurvivalError as error:
            pytest.fail(f"python -m campaigns.survival --rounds {ROUNDS} --seed {seed}: {error}")
    assert run.counts["orders acknowledged"] > ROUNDS, run.counts
    assert run.counts["kills"] + run.counts["suspensions"] == ROUNDS
    assert len(run.proxy.claims) > 1
