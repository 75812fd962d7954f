"""Proposals for snapshots that Spark reads, compared with those of the Python reader."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from common.plan_errors import PlanError
from planner.model.snapshot import read_snapshot, write_snapshot
from planner.proposals.problem.goal import ProposalError
from planner.proposals.proposal_text import plan_json
from planner.proposing import propose_for, propose_on, read_goal_options
from tests.planner.on_spark.clusters import random_cluster, shuffled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::ResourceWarning")]

GOALS = (
    "drain 1,2",
    "add 8",
    "drain 1 add 8",
    "balance",
    "rf 2",
    "racks",
    "leaders",
)


@pytest.mark.parametrize("seed", range(3))
def test_the_same_snapshot_gives_the_same_proposal(spark: "SparkSession", tmp_path: Path, seed: int) -> None:
    snapshot, path = random_cluster(seed), tmp_path / "snapshot.jsonl"
    if seed:
        snapshot.brokers[3] = snapshot.brokers[3]._replace(live=False)
    write_snapshot(shuffled(snapshot, seed), path)
    for goal in GOALS:
        evens = "add" in goal or "balance" in goal
        spread = "topic" if seed == 2 and evens else "cluster"
        by = "both" if evens else None
        goal_options = read_goal_options(goal.split(), {"by": by, "tolerance": "0%", "spread": spread})
        head, proposal = propose_on(spark, path, goal_options)
        expected = propose_for(snapshot, goal_options)
        assert proposal == expected
        assert plan_json(proposal.changes) == plan_json(expected.changes)
        assert (head.cluster_id, head.brokers, head.partitions) == ("some-id", snapshot.brokers, {})


@pytest.mark.parametrize("at", ["now", "busy", "mean"])
def test_rates_are_those_of_the_python_reader(spark: "SparkSession", tmp_path: Path, at: str) -> None:
    snapshot, path = random_cluster(4), tmp_path / "snapshot.parquet"
    write_snapshot(shuffled(snapshot, 4), path)
    options = {"by": "load,cpu", "at": at, "allow_unknown": True}
    for words in (["balance"], ["drain", "1"]):
        goal_options = read_goal_options(words, {**options, "allow_partial": words != ["balance"]})
        assert propose_on(spark, path, goal_options)[1] == propose_for(snapshot, goal_options)


def test_partitions_that_move_are_refused_or_left_out(spark: "SparkSession", tmp_path: Path) -> None:
    snapshot, path = random_cluster(5), tmp_path / "snapshot.jsonl"
    snapshot.partitions["topic-1", 0] = snapshot.partitions["topic-1", 0]._replace(target=(1,))
    write_snapshot(snapshot, path)
    with pytest.raises(ProposalError, match=r"^topic-1-0 is being reassigned"):
        propose_on(spark, path, read_goal_options(["drain", "1"], {}))
    goal_options = read_goal_options(["drain", "1"], {"skip_moving": True})
    assert propose_on(spark, path, goal_options)[1] == propose_for(snapshot, goal_options)


@pytest.mark.parametrize(
    "line",
    [
        '{"kind": "partition", "topic": 5}',
        '{"kind": "broker", "id": -1}',
        "nonsense",
        '{"kind": "partition", "topic": "topic-0", "partition": 0, "replicas": [1], "isr": [1], "leader": 1}',
    ],
)
def test_a_row_that_is_not_valid_is_named_as_by_the_python_reader(
    spark: "SparkSession", tmp_path: Path, line: str
) -> None:
    path = tmp_path / "snapshot.jsonl"
    write_snapshot(random_cluster(6), path)
    with path.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(PlanError) as expected:
        read_snapshot(path)
    with pytest.raises(PlanError) as raised:
        propose_on(spark, path, read_goal_options(["balance"], {}))
    assert str(raised.value) == str(expected.value)


def test_a_snapshot_with_a_hole_is_refused(spark: "SparkSession", tmp_path: Path) -> None:
    snapshot, path = random_cluster(7), tmp_path / "snapshot.jsonl"
    del snapshot.partitions["topic-3", 2]
    write_snapshot(snapshot, path)
    with pytest.raises(ProposalError, match="topic topic-3 has no partition 2"):
        propose_on(spark, path, read_goal_options(["balance"], {}))


PROPOSE = """
import sys
from reassignd import cli
from reassignd.commands import propose
propose.MAX_INLINE_PARTITIONS = 0
sys.exit(cli.main(["propose", *sys.argv[1:]]))
"""


@pytest.mark.timeout(600)  # it starts a server of Spark and a Spark of its own
def test_a_connect_server_gives_the_same_plan(connect_server: str, tmp_path: Path) -> None:
    write_snapshot(random_cluster(8), tmp_path / "snapshot")
    for name, where in (("inline", ()), ("remote", ("--remote", connect_server))):
        options = ["--snapshot", f"{tmp_path}/snapshot", "--output", f"{tmp_path}/{name}", *where]
        subprocess.run([sys.executable, "-c", PROPOSE, "balance", *options], check=True)  # noqa: S603 - our own
    assert (tmp_path / "remote").read_bytes() == (tmp_path / "inline").read_bytes()
