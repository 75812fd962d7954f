"""Execution of a proposal as a job: checks before it, the wait for its end, and drains that are repeated."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from common.wording import counted
from planner.model.snapshot import Snapshot
from planner.proposals.problem.goal import Goal
from planner.proposals.proposal_text import left_out_lines, plan_json
from planner.proposals.result import Proposal
from planner.proposing import GoalOptions, propose_for
from reassignd.commands.cluster_source import Source, read_server
from reassignd.commands.drained import held_by, report, stays_registered
from reassignd.commands.execute import Shown, WaitOptions, finish
from reassignd.commands.options import JSON
from reassignd.commands.output import echo
from reassignd.config.errors import CommandError, UnreachableError

if TYPE_CHECKING:
    from reassignd.client import Client

WATCH_SECONDS = 5.0
"""Pause before a drain is proposed again."""


MOVING_GOALS = {"drain", "add", "balance", "rf", "racks", "repair"}


class Execution(NamedTuple):
    """The options of the command that concern the execution.

    `timeout` is in seconds, `until` in milliseconds since 1970.
    """

    dry_run: bool = False
    execute: bool = False
    replan: bool = False
    throttle: int | None = None
    limits: str | None = None
    paused: bool = False
    wait: bool = False
    watch: bool = False
    until: int | None = None
    timeout: float | None = None

    def check_spark(self) -> None:
        """Raise UsageError for options that cannot be used with Spark."""
        if self.dry_run:
            raise click.UsageError(
                "--dry-run cannot be used with Spark: write the plan with --output, then use `reassignd plan`"
            )
        if self.watch:
            raise click.UsageError("--watch cannot be used with Spark: leave out --master and --remote")

    def check(self, goals: Sequence[str], source: Source, *, writes_files: bool) -> None:
        """Raise UsageError for options that contradict each other."""
        if self.execute and source.bootstrap_server is not None:
            raise click.UsageError(
                "--execute needs a running server: leave out --bootstrap-server, or write the plan with"
                " --output"
            )
        if self.execute and self.dry_run:
            raise click.UsageError("--execute and --dry-run cannot be used together")
        for option in ("replan", "paused", "wait", "watch", "until"):
            if getattr(self, option) and not self.execute:
                raise click.UsageError(f"--{option} needs --execute")
        for option in ("throttle", "limits"):
            if getattr(self, option) is not None and not (self.execute or self.dry_run):
                raise click.UsageError(f"--{option} needs --execute or --dry-run")
        if self.timeout is not None and not (self.wait or self.watch):
            raise click.UsageError("--timeout needs --wait or --watch")
        self._check_until(goals)
        if self.watch:
            self._check_watch(goals, files=writes_files or source.snapshot is not None)

    def _check_watch(self, goals: Sequence[str], *, files: bool) -> None:
        if self.paused:
            raise click.UsageError("--watch waits for the end of its plans: leave out --paused")
        if "drain" not in goals:
            raise click.UsageError("--watch is for drain")
        if files:
            raise click.UsageError("--watch makes several plans of the running server: leave out files")

    def _check_until(self, goals: Sequence[str]) -> None:
        if self.until is not None and MOVING_GOALS & {*goals}:
            raise click.UsageError(
                "--until is for demote without goals that move data: its rollback would move them back"
            )
        if self.until is not None and "demote" not in goals:
            raise click.UsageError("--until is for demote")


def check_same_cluster(snapshot: Snapshot, now: Snapshot) -> None:
    """Raise CommandError if the snapshot is of another cluster than the server's."""
    if None not in (snapshot.cluster_id, now.cluster_id) and snapshot.cluster_id != now.cluster_id:
        raise CommandError(
            f"the snapshot is of cluster {snapshot.cluster_id}, but the server's is {now.cluster_id}"
        )


def not_as_in(now: Snapshot, proposal: Proposal) -> list[str]:
    """Return a line for each cause for which partitions of the proposal are not as they were."""
    changed, moving = [], []
    for row in proposal.changes:
        name, present = f"{row.topic}-{row.partition}", now.partitions.get((row.topic, row.partition))
        if present is None or present.replicas != row.replicas:
            changed.append(name)
        elif present.target is not None:
            moving.append(name)
    causes = (
        ("changed since the snapshot", changed, "take a new snapshot, or use --replan"),
        ("being reassigned or queued since the snapshot", moving, "wait for the end"),
    )
    return [
        f"{cause}: {counted(len(names), 'partition')}, the first is {names[0]}; {remedy}"
        for cause, names, remedy in causes
        if names
    ]


def execute(
    client: "Client",
    goal_options: GoalOptions,
    proposal: Proposal,
    execution: Execution,
    output_format: str,
    rollback_file: Path | None = None,
) -> int:
    """Submit the plan, and wait for its end if asked for; return the exit code.

    From now on no new partitions are placed on drained brokers.
    """
    goal, code = goal_options.goal, 0
    placing = Placing(client, goal)
    if proposal.changes:
        code = submit_plan(placing, proposal, execution, Shown(output_format, rollback_file))
    else:
        placing.reserve()
    if not (execution.wait and goal.drain):
        return code
    held = held_by(read_server(client), goal.drain, goal_options.topics)
    return max(code, report(held, output_format, registered=stays_registered(client)))


def submit_plan(placing: "Placing", proposal: Proposal, execution: Execution, shown: Shown) -> int:
    """Submit the plan as a job, and wait for its end if asked for; return the exit code.

    Brokers are reserved before, so that no new partition gets in between, and released if there is no job.
    """
    plan, client = plan_json(proposal.changes).encode(), placing.client
    undo = placing.reserve()
    try:
        answer = client.post(
            "/v1/jobs",
            plan,
            throttle=execution.throttle,
            limits=execution.limits,
            paused=execution.paused or None,
            elect=proposal.elects or None,
            until_ms=execution.until,
        )
    except UnreachableError:
        raise  # The plan may have been accepted.
    except BaseException:
        placing.release(undo)
        raise
    if answer["job"] is None:
        placing.release(undo)
    return finish(client, answer, WaitOptions(execution.wait, execution.timeout), shown)


class Reservation(NamedTuple):
    """Brokers that were excluded from the placement of new partitions, and others that were allowed."""

    excluded: Sequence[int] = ()
    allowed: Sequence[int] = ()


class Placing:
    """The placement of new partitions while a goal is carried out: none on drained brokers."""

    def __init__(self, client: "Client", goal: Goal) -> None:
        self.client, self.goal = client, goal
        self._said: set[str] = set()

    def reserve(self) -> Reservation:
        """Exclude drained brokers, and allow added ones. Return what has changed.

        What hinders that is said once, however often it is tried.
        """
        if not (self.goal.drain or self.goal.add):
            return Reservation()
        placed = self.client.get("/v1/placement")
        # A failed broker may not be registered any more; then nothing is placed on it anyway.
        known = {broker["id"] for broker in placed["brokers"]}
        exclude = sorted((self.goal.drain & known).difference(placed["excluded"]))
        allow = sorted(self.goal.add.intersection(placed["excluded"]))
        if not (exclude or allow):
            return Reservation()
        answer = self.client.post("/v1/placement", {"exclude": exclude, "allow": allow})
        for note in answer["notes"]:
            if note not in self._said:
                echo(f"reassignd: {note}", err=True)
        self._said.update(answer["notes"])
        return Reservation(exclude, allow)

    def release(self, undo: Reservation) -> None:
        """Undo what was changed."""
        if any(undo):
            self.client.post("/v1/placement", {"exclude": undo.allowed, "allow": undo.excluded})


def watch(
    client: "Client",
    goal_options: GoalOptions,
    execution: Execution,
    show: Callable[[Proposal], None],
    output_format: str,
    *,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Propose and execute again until the drained brokers are empty, or what is left cannot be moved.

    Return the exit code. Partitions that move for another job are left out until they have ended.
    """
    deadline = None if execution.timeout is None else now() + execution.timeout
    goal_options, goal = goal_options._replace(skip_moving=True), goal_options.goal
    placing = Placing(client, goal)
    before: int | None = None
    while True:
        cluster = read_server(client)
        held = held_by(cluster, goal.drain, goal_options.topics)
        partitions = {key for each in held for key in each.partitions}
        left = None if deadline is None else deadline - now()
        if not partitions or (left is not None and left <= 0):
            placing.reserve()
            return report(held, output_format, registered=stays_registered(client))
        if before is not None and len(partitions) >= before:
            sleep(WATCH_SECONDS)
        before = len(partitions)
        proposal = propose_for(cluster, goal_options)
        if proposal.changes:
            show(proposal)
            submit_plan(placing, proposal, execution._replace(wait=True, timeout=left), Shown(output_format))
        else:
            placing.reserve()
            if all(cluster.partitions[key].settled for key in partitions):
                echo("\n".join(left_out_lines(proposal.left_out)), err=True)
                return report(held, output_format)
            if output_format != JSON:
                echo("waiting for reassignments and deletions on the drained brokers", err=True)
