"""Propose a plan for a snapshot file that Spark reads. The plan is that of `planner.proposing.propose_for`."""

from pathlib import Path
from typing import TYPE_CHECKING

from planner.on_spark.rows import UnusualSnapshotError
from planner.proposals.problem.goal import MissingSolverError
from planner.proposals.proposal import Proposal
from planner.proposing import GoalOptions, propose_for, propose_from
from planner.snapshot import Snapshot, read_snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def propose_on(spark: "SparkSession", path: Path, goal_options: GoalOptions) -> tuple[Snapshot, Proposal]:
    """Return the cluster, without its partitions, and the proposal. Raises PlanError, ProposalError, MissingSolverError.

    A snapshot with an invalid or unusual row is read again in Python, which names the row.
    """
    try:
        from planner.on_spark.columns import read_cluster
    except ModuleNotFoundError as error:
        raise MissingSolverError from error
    try:
        cluster = read_cluster(spark, path)
    except (UnusualSnapshotError, OSError):
        snapshot = read_snapshot(path)
        return snapshot._replace(partitions={}), propose_for(snapshot, goal_options)
    head = Snapshot(dict(cluster.brokers), {}, cluster.cluster_id)
    return head, propose_from(cluster.brokers, cluster.columns, goal_options)
