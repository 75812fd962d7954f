"""Instances that share a state topic survive the end and the suspension of the active one.

See `campaigns.survival`.
"""

import random
from pathlib import Path

import pytest

from campaigns.orders import SurvivalError
from campaigns.survival import Survival
from campaigns.two_instances import two_instances

ROUNDS = 2


@pytest.mark.timeout(400)
async def test_nothing_is_lost_when_the_active_instance_is_killed_or_suspended(tmp_path: Path) -> None:
    seed = random.randrange(1_000_000)
    with two_instances(Survival, tmp_path, seed) as run:
        try:
            await run.start()
            await run.run(range(ROUNDS), print)
            await run.finish()
        except SurvivalError as error:
            pytest.fail(f"python -m campaigns.survival --rounds {ROUNDS} --seed {seed}: {error}")
    assert run.counts["orders acknowledged"] > ROUNDS, run.counts
    assert run.counts["kills"] + run.counts["suspensions"] == ROUNDS
    assert len(run.record.claims) == run.findings.claims > 1
