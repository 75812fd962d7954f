"""The answer of plans that move replicas between the log directories of brokers."""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import NamedTuple

from controller.state.cluster import Disk
from server.api.shared.proposals import DiskFigures
from server.cruisecontrol.shared import results
from server.cruisecontrol.shared.capacities import MEGABYTE
from server.cruisecontrol.shared.goals import Chosen, Evidence, Verdict, judge
from server.cruisecontrol.shared.loads import BrokerRow, Change
from server.cruisecontrol.shared.plan_parameters import PlanParameters

DISK_GOALS = ("IntraBrokerDiskCapacityGoal", "IntraBrokerDiskUsageDistributionGoal")
REMOVAL_GOALS = DISK_GOALS[:1]
"""An emptied directory is not as full as the others."""


class DiskAnswer(NamedTuple):
    """What an answer is made of, apart from the brokers."""

    given: PlanParameters
    chosen: Chosen
    disks: DiskFigures
    notes: Sequence[str]
    topics: int
    milliseconds: int


def disk_answer(shown: DiskAnswer, now: Sequence[BrokerRow], changes: Sequence[Change] | None) -> bytes:
    """Return the answer. No broker holds more or less after the plan. Raises CruiseControlError."""
    after = [_after(row, shown.disks) for row in now]
    nothing = frozenset[int]()
    verdicts = judge(shown.chosen, Evidence(now, 0, 0, nothing), Evidence(after, 0, 0, nothing), mends=True)
    summaries = results.goal_summaries(verdicts, after, shown.topics, shown.milliseconds)
    return results.result(_summary(shown, verdicts), summaries, (now, after), changes)


def _after(row: BrokerRow, figures: DiskFigures) -> BrokerRow:
    """Return a broker after the plan."""
    changed = {
        each.path: each.after - each.before
        for each in figures.dirs
        if each.broker == row.id and each.before is not None and each.after is not None
    }
    disks = [_filled(disk, changed.get(disk.path, 0)) for disk in row.disks or ()]
    return replace(row, disks=disks)


def _filled(disk: Disk, more: int) -> Disk:
    return disk._replace(usable=disk.usable - more)


def _summary(shown: DiskAnswer, verdicts: Sequence[Verdict]) -> results.Summary:
    numbers = results.judged(verdicts, shown.given.excluded, shown.notes)
    numbers.num_intra_broker_replica_movements = shown.disks.moves
    numbers.intra_broker_data_to_move = ceil(shown.disks.bytes / MEGABYTE)
    return numbers


def left_in_directories(figures: DiskFigures) -> list[str]:
    """Return what the plan does not reach, and what it says besides."""
    left = figures.left_out_replicas
    first = figures.left_out[0] if figures.left_out else None
    example = "" if first is None else f", such as {first.topic}-{first.partition}: {first.reason}"
    lines = [f"{left} replicas are left where they are{example}"] if left else []
    return [*lines, *figures.short, *figures.notes]
