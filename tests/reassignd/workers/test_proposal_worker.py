import io
import json
from typing import Any

import pytest

from common.plan_errors import PlanError
from planner.model.snapshot import Snapshot, lines
from reassignd.workers import proposal_worker
from reassignd.workers.processes import END_OF_REQUEST
from reassignd.workers.proposal_worker import MOST_REASONS, work
from tests.planner.proposals.builders import cluster
from tests.planner.proposals.disks.builders import disks
from tests.reassignd.shell import Shell


def request(*goals: str, **limits: int) -> bytes:
    asked = {"goals": goals, "options": {}, "limits": limits, "bandwidth": 10, "rates": []}
    asked["seconds_of_move"] = 1.0
    return json.dumps(asked).encode() + b"\n"


def answered(snapshot: Snapshot, *goals: str, **limits: int) -> list[Any]:
    output = io.BytesIO()
    work(iter([request(*goals, **limits), *lines(snapshot), END_OF_REQUEST]), output)
    return [json.loads(line) for line in output.getvalue().splitlines()]


def test_the_answer_is_figures_plan_and_rollback() -> None:
    [first, plan, rollback] = answered(cluster("---", (1, 2), (1, 2)), "drain", "1", partitions=1)
    figures = first["figures"]
    assert (figures["moves"], figures["partitions"]) == (2, 2)
    assert figures["summary"][0] == "moves 2 replicas (2 B); no plan can do with fewer"
    assert (figures["forecast"]["waves"], figures["forecast"]["seconds"]) == (2, 0.2)
    assert [row["replicas"] for row in plan["partitions"]] == [[2, 3], [2, 3]]
    assert [row["replicas"] for row in rollback["partitions"]] == [[1, 2], [1, 2]]


def test_moves_between_directories_are_answered_with_a_line_more() -> None:
    [first, plan, rollback, moves] = answered(disks(a=[20, 20], b=[]), "disks")
    assert (first["disks"]["moves"], first["disks"]["bytes"], first["disks"]["left_out_replicas"]) == (
        1,
        20,
        0,
    )
    assert first["disks"]["forecast"] == {"bandwidth": 10, "seconds": 2.0}
    assert plan["partitions"][0]["log_dirs"] == ["/b"]
    assert rollback["partitions"][0]["log_dirs"] == ["/a"]
    assert [(each["source"], each["target"], each["bytes"]) for each in moves["moves"]] == [("/a", "/b", 20)]


def test_directories_that_cannot_be_emptied_are_reasons() -> None:
    asked = {"goals": ["disks"], "options": {"empty": [[1, "/a"]]}}
    output = io.BytesIO()
    full = disks(a=[30], b=[60])
    work(iter([json.dumps(asked).encode(), *lines(full), END_OF_REQUEST]), output)
    [answer] = map(json.loads, output.getvalue().splitlines())
    assert answer["reasons"][0].startswith("broker 1: /a keeps 1 replica (30 B)")


def test_reasons_are_listed_up_to_a_number() -> None:
    of_each_factor = [tuple(range(1, factor + 1)) for factor in range(2, 32)]
    [answer] = answered(cluster("-" * 31, *of_each_factor), "drain", ",".join(map(str, range(2, 32))))
    assert len(answer["reasons"]) == MOST_REASONS + 1
    assert answer["reasons"][-1] == "and 10 more reasons"
    assert answered(cluster("--", (1,)), "drain", "9") == [{"reasons": ["broker 9 is not in the cluster"]}]


def test_a_plan_without_forecast_is_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposal_worker, "forecast", _fail)
    first, *_ = answered(cluster("---", (1, 2)), "drain", "1")
    assert first["figures"]["forecast"] is None


def _fail(*_: Any, **__: Any) -> Any:
    raise PlanError("the forecast needs pyarrow")


@pytest.mark.whole
def test_a_server_proposes_and_executes(shell: Shell) -> None:
    from reassignd.client import Client, Target

    with Client(Target(shell.url)) as client:
        proposal = client.post("/v1/proposals", {"drain": [6]})
        assert (proposal["state"], proposal["figures"]["moves"]) == ("ready", 99)
        job = client.post(f"/v1/proposals/{proposal['id']}/execute")["job"]
    shell.until(lambda: shell.json("job", str(job))["job"]["state"] == "ended")
    assert shell.run("drained", "6").code == 0
