"""Cruise Control's goals: which of our goals each stands for, and whether a plan meets it.

A goal is judged by what is known. One that cannot be judged is NO-ACTION with the reason, and never FIXED. A
hard goal that is violated after the plan refuses the request, unless that has `skip_hard_goal_check=true`; so
does one that cannot be judged, if the request names it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, floor
from typing import NamedTuple

from msgspec.structs import replace

from controller.model.load import LoadSummary
from controller.state.cluster import Disk
from server.api.shared.proposals import LeaderGoal, ProposalFigures, ProposalRequest, Spread
from server.cruisecontrol.shared.detection import JUDGED
from server.cruisecontrol.shared.errors import CruiseControlError, bad_parameter, refused
from server.cruisecontrol.shared.loads import BrokerRow

MOST_REPLICAS = 10_000
"""Of a broker: `max.replicas.per.broker`."""
FULLEST = 0.8
"""`disk.capacity.threshold`, and those of the network."""
TOLERANCE = 0.1
"""Of the distribution goals: their balance threshold of 1.10, as a deviation from the mean."""
MEASURED = 0.95
"""Fraction of the partitions whose rates must be known: `min.valid.partition.ratio`."""

NO_LOAD = "the load of partitions is not measured (reassignment.load.sampling)"
NO_CAPACITY = "no capacity of brokers is known for it"
NO_SIZES = "the sizes of some replicas are not known"
NO_DIRS = "the sizes of some log directories are not known"
NOT_PLACED = "brokers choose the log directories of the plan's new replicas themselves"
NOT_OFFERED = "reassignd has no such rule"


class Evidence(NamedTuple):
    """The cluster at one moment, before or after a plan."""

    rows: Sequence[BrokerRow]
    rack_excess: int
    """Replicas against the rack rule."""
    topic_excess: int
    """Replicas above the even share of their topic on a broker."""
    excluded: frozenset[int]
    """Brokers that give up their replicas: their shares are not judged."""

    @property
    def sharing(self) -> list[BrokerRow]:
        """The brokers that share the load."""
        return [row for row in self.rows if row.alive and row.id not in self.excluded]


Judgement = bool | str
"""Whether the goal is violated, or why that cannot be judged."""

_Value = Callable[[BrokerRow], float | None]


class CruiseControlGoal(NamedTuple):
    """A goal of Cruise Control."""

    name: str
    judge: Callable[[Evidence], Judgement]
    hard: bool = False
    loads: tuple[str, ...] = ()
    """The loads of `--by` that it evens out."""


def _even(value: _Value, unknown: str = NO_LOAD) -> Callable[[Evidence], Judgement]:
    """Return a judge of whether each broker is within the tolerance around the mean."""

    def judge(evidence: Evidence) -> Judgement:
        values = [value(row) for row in evidence.sharing]
        known = [each for each in values if each is not None]
        if len(known) < len(values):
            return unknown
        mean = sum(known) / len(known) if known else 0.0
        least, most = floor(mean * (1 - TOLERANCE)), ceil(mean * (1 + TOLERANCE))
        return any(not least <= each <= most for each in known)

    return judge


def _usage(row: BrokerRow) -> float | None:
    """Return the used part of the disks in millionths."""
    return None if not row.capacity else 1e6 * row.bytes / row.capacity


def _disk_usage(evidence: Evidence) -> Judgement:
    """Judge by the used part of disks, or by bytes where no disk's size is known."""
    if any(row.unsized for row in evidence.sharing):
        return NO_SIZES
    known = all(row.capacity for row in evidence.sharing)
    return _even(_usage if known else lambda row: float(row.bytes))(evidence)


def _within(value: _Value, capacity: _Value) -> Callable[[Evidence], Judgement]:
    """Return a judge of whether each broker keeps a fifth of its capacity free."""

    def judge(evidence: Evidence) -> Judgement:
        pairs = [(value(row), capacity(row)) for row in evidence.sharing]
        if any(most is None for _, most in pairs):
            return NO_CAPACITY
        if any(used is None for used, _ in pairs):
            return NO_LOAD
        return any((used or 0.0) > FULLEST * (most or 0.0) for used, most in pairs)

    return judge


_fits_disks = _within(lambda row: float(row.bytes), lambda row: row.capacity)


def _disk_capacity(evidence: Evidence) -> Judgement:
    """Judge by the bytes that are known: they may be too many already."""
    judgement = _fits_disks(evidence)
    return judgement or (NO_SIZES if any(row.unsized for row in evidence.sharing) else judgement)


def _of_dirs(violates: Callable[[Sequence[Disk]], bool]) -> Callable[[Evidence], Judgement]:
    """Return a judge of the log directories of each broker."""

    def judge(evidence: Evidence) -> Judgement:
        rows = [row for row in evidence.rows if row.alive]
        sized = [row.disks for row in rows if row.disks and all(each.total > 0 for each in row.disks)]
        if any(map(violates, sized)):
            return True
        if any(row.disks is None for row in rows):
            return NOT_PLACED
        return NO_DIRS if len(sized) < len(rows) else False

    return judge


def _is_full(disks: Sequence[Disk]) -> bool:
    """Whether a directory of a broker has less than a fifth free."""
    return any(each.total - each.usable > FULLEST * each.total for each in disks)


def _are_uneven(disks: Sequence[Disk]) -> bool:
    """Whether a directory of a broker is not as full as the others. Cordoned ones get nothing."""
    disks = [each for each in disks if not each.cordoned]
    used = [1 - each.usable / each.total for each in disks]
    total = sum(each.total for each in disks)
    mean = 1 - sum(each.usable for each in disks) / total if total else 0.0
    least, most = mean * (1 - TOLERANCE), mean * (1 + TOLERANCE)
    return len(used) > 1 and any(not least <= each <= most for each in used)


def _never(_: Evidence) -> Judgement:
    """Judge a goal that Cruise Control's own defaults make void."""
    return False


def _not_judged(reason: str) -> Callable[[Evidence], Judgement]:
    return lambda _: reason


_RATES = {
    "NetworkInboundUsageDistributionGoal": ("in", lambda row: _both(row.leader_in, row.follower_in)),
    "NetworkOutboundUsageDistributionGoal": ("out", lambda row: row.bytes_out),
    "LeaderBytesInDistributionGoal": ("leaders-in", lambda row: row.leader_in),
}


def _both(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second


def _racks(evidence: Evidence) -> Judgement:
    return evidence.rack_excess > 0


GOALS: tuple[CruiseControlGoal, ...] = (
    CruiseControlGoal("RackAwareGoal", _racks, hard=True),
    CruiseControlGoal("RackAwareDistributionGoal", _racks, hard=True),
    CruiseControlGoal("BrokerSetAwareGoal", _not_judged(NOT_OFFERED), hard=True),
    CruiseControlGoal("MinTopicLeadersPerBrokerGoal", _never, hard=True),
    CruiseControlGoal(
        "ReplicaCapacityGoal", lambda each: any(row.replicas > MOST_REPLICAS for row in each.rows), hard=True
    ),
    CruiseControlGoal("DiskCapacityGoal", _disk_capacity, hard=True),
    CruiseControlGoal(
        "NetworkInboundCapacityGoal",
        _within(lambda row: _both(row.leader_in, row.follower_in), lambda row: row.limits.network_in),
        hard=True,
    ),
    CruiseControlGoal(
        "NetworkOutboundCapacityGoal",
        _within(lambda row: row.bytes_out, lambda row: row.limits.network_out),
        hard=True,
    ),
    CruiseControlGoal("CpuCapacityGoal", _not_judged(NO_CAPACITY), hard=True),
    CruiseControlGoal("ReplicaDistributionGoal", _even(lambda row: float(row.replicas)), loads=("replicas",)),
    CruiseControlGoal(
        "PotentialNwOutGoal", _within(lambda row: row.potential_out, lambda row: row.limits.network_out)
    ),
    CruiseControlGoal("DiskUsageDistributionGoal", _disk_usage, loads=("bytes",)),
    *(CruiseControlGoal(name, _even(value), loads=(load,)) for name, (load, value) in _RATES.items()),
    CruiseControlGoal("CpuUsageDistributionGoal", _even(lambda row: row.modelled_cpu), loads=("cpu",)),
    CruiseControlGoal("TopicReplicaDistributionGoal", lambda each: each.topic_excess > 0),
    CruiseControlGoal("LeaderReplicaDistributionGoal", _even(lambda row: float(row.leaders))),
    CruiseControlGoal("PreferredLeaderElectionGoal", _never),
    CruiseControlGoal("IntraBrokerDiskCapacityGoal", _of_dirs(_is_full), hard=True),
    CruiseControlGoal("IntraBrokerDiskUsageDistributionGoal", _of_dirs(_are_uneven)),
    CruiseControlGoal("KafkaAssignerEvenRackAwareGoal", _racks, loads=("replicas",)),
    CruiseControlGoal("KafkaAssignerDiskUsageDistributionGoal", _disk_usage, loads=("bytes",)),
)
"""In the order of Cruise Control's priorities."""

BY_NAME: Mapping[str, CruiseControlGoal] = {goal.name.lower(): goal for goal in GOALS}

RACK_GOALS = frozenset({"RackAwareGoal", "RackAwareDistributionGoal", "KafkaAssignerEvenRackAwareGoal"})
ASSIGNER = ("KafkaAssignerEvenRackAwareGoal", "KafkaAssignerDiskUsageDistributionGoal")
"""The goals of `kafka_assigner` without `goals`."""
DEFAULT = ("RackAwareDistributionGoal", *JUDGED)
"""The goals of a request without `goals`, without those that cannot be judged."""
RATE_LOADS = frozenset({"in", "out", "leaders-in", "cpu"})


def goal_of(name: str) -> CruiseControlGoal:
    """Return the goal with this name, whose case does not count. Raises KeyError."""
    return BY_NAME[name.lower()]


def has_rates(load: LoadSummary) -> bool:
    """Return whether enough rates are known for plans by them."""
    return load.sampling and load.coverage >= MEASURED


def default_goals(*, rates: bool) -> list[CruiseControlGoal]:
    """Return the goals of a request that names none, with those by rates or without."""
    goals = map(goal_of, DEFAULT)
    return [goal for goal in goals if rates or RATE_LOADS.isdisjoint(goal.loads)]


class Chosen(NamedTuple):
    """The goals of a request, in the order in which it names them."""

    goals: Sequence[CruiseControlGoal]
    skip_hard: bool
    """A hard goal that cannot be judged, or stays violated, does not refuse the request."""
    named: bool
    """The request names them. Of the default ones, those that cannot be judged are left out."""

    @property
    def names(self) -> frozenset[str]:
        """The names of the goals."""
        return frozenset(goal.name for goal in self.goals)

    @property
    def loads(self) -> list[str]:
        """The loads to even out, each once."""
        return list(dict.fromkeys(load for goal in self.goals for load in goal.loads))


def choose(names: Iterable[str], *, skip_hard: bool, assigner: bool, has_load: bool) -> Chosen:
    """Return the goals with these names, which may be those of Java classes. Raises CruiseControlError."""
    given = [name.rpartition(".")[2] for name in names]
    if unknown := [name for name in given if name.lower() not in BY_NAME]:
        known = ", ".join(goal.name for goal in GOALS)
        raise bad_parameter(f"There is no goal '{unknown[0][:80]}'; known: {known}.")
    goals = list(map(goal_of, dict.fromkeys(given)))
    if assigner and not goals:
        goals = list(map(goal_of, ASSIGNER))
    if goals:
        return Chosen(goals, skip_hard, named=True)
    return Chosen(default_goals(rates=has_load), skip_hard, named=False)


def as_request(chosen: Chosen, request: ProposalRequest, *, has_load: bool, evens: bool) -> ProposalRequest:
    """Return the request with what the goals ask for; `evens` says whether replicas are evened out."""
    names, loads = chosen.names, [each for each in chosen.loads if has_load or each not in RATE_LOADS]
    racks = not names.isdisjoint(RACK_GOALS)
    request = replace(
        request,
        fix_racks=racks,
        strict_racks="RackAwareGoal" in names,
        headroom="20%" if "DiskCapacityGoal" in names else None,
    )
    leads = "LeaderReplicaDistributionGoal" in names or not {"in", "out", "leaders-in"}.isdisjoint(loads)
    if not evens:
        return request
    if not loads:
        goals = replace(request, racks=racks or not leads, leaders=leads, fix_racks=False)
        return replace(goals, balance=False)
    topics = "TopicReplicaDistributionGoal" in names and RATE_LOADS.isdisjoint(loads)
    return replace(
        request,
        by=",".join(loads),
        tolerance_of=[f"{load}={round(100 * TOLERANCE)}%" for load in loads],
        allow_unknown=not RATE_LOADS.isdisjoint(loads),
        allow_partial=True,
        preferred_leaders=LeaderGoal.BALANCE if leads else LeaderGoal.KEEP,
        spread=Spread.TOPIC if topics else None,
    )


class Verdict(NamedTuple):
    """What a plan does for a goal."""

    goal: CruiseControlGoal
    status: str
    """VIOLATED, FIXED or NO-ACTION."""
    reason: str = ""
    """Why it cannot be judged."""
    before: bool = False
    """Whether it was violated before the plan."""


def judge(chosen: Chosen, before: Evidence, after: Evidence, *, mends: bool = True) -> list[Verdict]:
    """Return what the plan does for each goal.

    `mends` says whether the plan is there to meet the goals in the whole cluster. If not, a default goal may
    stay violated. Raises CruiseControlError for a hard goal.
    """
    verdicts = [_verdict(goal, goal.judge(before), goal.judge(after)) for goal in chosen.goals]
    for verdict in verdicts if not chosen.skip_hard else ():
        if not verdict.goal.hard:
            continue
        if verdict.reason and chosen.named:
            raise CruiseControlError(
                500,
                f"The hard goal {verdict.goal.name} cannot be judged: {verdict.reason}; leave it out, or send"
                " skip_hard_goal_check=true.",
            )
        if verdict.status == "VIOLATED" and (chosen.named or mends or not verdict.before):
            when = "after the plan, too: add brokers" if verdict.before else "by the plan: name other goals"
            raise refused(
                f"the hard goal {verdict.goal.name} is violated {when}, or send skip_hard_goal_check=true"
            )
    return verdicts


def _verdict(goal: CruiseControlGoal, before: Judgement, after: Judgement) -> Verdict:
    if isinstance(before, str) or isinstance(after, str):
        return Verdict(goal, "NO-ACTION", before if isinstance(before, str) else str(after))
    status = "VIOLATED" if after else "FIXED" if before else "NO-ACTION"
    return Verdict(goal, status, before=before)


def balancedness(verdicts: Sequence[Verdict]) -> tuple[float, float]:
    """Return the scores before and after, from 0 to 100.

    A violated goal costs its weight: a tenth more than the goal after it, and half more again if it is hard.
    """
    weights = [
        1.1 ** (len(verdicts) - place) * (1.5 if verdict.goal.hard else 1.0)
        for place, verdict in enumerate(verdicts)
    ]
    total = sum(weights) or 1.0
    lost_before = sum(weight for weight, each in zip(weights, verdicts, strict=True) if each.before)
    lost_after = sum(
        weight for weight, each in zip(weights, verdicts, strict=True) if each.status == "VIOLATED"
    )
    return 100.0 - 100.0 * lost_before / total, 100.0 - 100.0 * lost_after / total


def evidence(
    figures: ProposalFigures, rows: Sequence[BrokerRow], excluded: frozenset[int], after: bool
) -> Evidence:
    """Return the cluster before or after the plan with these figures."""
    racks, topics = figures.rack_excess, figures.topic_excess
    return Evidence(
        rows,
        racks.after if after else racks.before,
        topics.after if after else topics.before,
        excluded,
    )
