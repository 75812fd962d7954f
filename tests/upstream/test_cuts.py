"""Instances that share a state topic survive cuts between them and the cluster; see `campaigns.cuts`."""

import random
from pathlib import Path

import pytest

from campaigns.cuts import Cuts
from campaigns.orders import SurvivalError
from campaigns.two_instances import two_instances

NAMES = "answer lost", "answers", "requests"


@pytest.mark.timeout(300)
async def test_nothing_is_lost_when_frames_pass_in_one_direction_only(tmp_path: Path) -> None:
    seed = random.randrange(1_000_000)
    with two_instances(Cuts, tmp_path, seed) as run:
        try:
            await run.start()
            await run.run([1], print, NAMES)
            await run.finish()
        except SurvivalError as error:
            pytest.fail(f"python -m campaigns.cuts --rounds 1 --seed {seed}: {error}")
    assert [run.counts[f"cut: {name}"] for name in NAMES] == [1, 1, 1]
    assert run.counts["frames held or delayed"] > 0
    assert run.take_overs >= 2
