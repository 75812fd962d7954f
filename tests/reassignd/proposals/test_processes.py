import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from common.wording import missing
from planner.snapshot import lines
from reassignd.proposals import processes
from reassignd.proposals.processes import compute, review, solver_obstacle
from tests.planner.proposals.builders import cluster


async def pieces(**request: Any) -> AsyncIterator[bytes]:
    yield json.dumps(request | {"limits": {}, "bandwidth": 10, "rates": []}).encode() + b"\n"
    for line in lines(cluster("---", (1, 2))):
        yield line


async def test_a_process_computes_a_proposal() -> None:
    first, *_ = (await compute(pieces(goals=["drain", "1"], options={}))).splitlines()
    assert json.loads(first)["figures"]["moves"] == 1


async def test_a_process_forecasts_a_plan() -> None:
    answer = json.loads(await review(pieces(targets=[["foo", 0, [3, 2]]])))
    assert answer["replica_movements"] == 1


def test_a_missing_solver_is_an_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    assert solver_obstacle() is None
    monkeypatch.setattr(processes, "find_spec", lambda _: None)
    assert solver_obstacle() == missing("propose", "OR-tools", "propose")
