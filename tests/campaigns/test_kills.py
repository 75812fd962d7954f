"""An acknowledged request survives kill -9."""

import random
from pathlib import Path

import pytest

from campaigns.kills import Run
from campaigns.partition_model import LostError

KILLS = 40


@pytest.mark.whole
@pytest.mark.timeout(300)
def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    seed = random.randrange(1_000_000)
    run = Run(tmp_path / "data", seed)
    try:
        run.kills(KILLS)
    except LostError as error:
        pytest.fail(f"python -m campaigns.kills --kills {KILLS} --seed {seed}: {error}")
    assert run.counts["cut off"] == KILLS
    # A busy machine answers fewer requests before each kill.
    assert len(run.model.jobs) > KILLS // 4
