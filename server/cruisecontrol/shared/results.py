"""The answer of requests that plan: what moves, what each goal gains, and the load before and after."""

from collections.abc import Callable, Iterable, Sequence
from math import ceil, sqrt

from msgspec import UNSET, Struct, UnsetType, field

from common.tasks import ROWS_PER_SLICE
from server.api.shared.proposals import ProposalFigures
from server.cruisecontrol.shared.answers import encode
from server.cruisecontrol.shared.capacities import KILOBYTE, MEGABYTE
from server.cruisecontrol.shared.goals import Verdict, balancedness
from server.cruisecontrol.shared.loads import NOT_KNOWN, BrokerRow, Change, ClusterLoad, cluster_load


class Summary(Struct, rename="camel", kw_only=True):
    """The plan in numbers. Strimzi copies it into the status of its resource."""

    num_replica_movements: int = 0
    data_to_move: int = field(name="dataToMoveMB", default=0)
    num_leader_movements: int = 0
    recent_windows: int = 1
    monitored_partitions_percentage: float = 100.0
    excluded_topics: list[str]
    score_before: float = field(name="onDemandBalancednessScoreBefore")
    score_after: float = field(name="onDemandBalancednessScoreAfter")
    provision_status: str
    provision_recommendation: str
    num_intra_broker_replica_movements: int = 0
    intra_broker_data_to_move: int = field(name="intraBrokerDataToMoveMB", default=0)
    excluded_brokers_for_replica_move: list[int] = []
    excluded_brokers_for_leadership: list[int] = []


class ModelMetadata(Struct):
    """How large the cluster is."""

    brokers: int
    replicas: int
    topics: int


class Statistics(Struct, rename="camel"):
    """One statistic over the live brokers. What is not known is `NOT_KNOWN`."""

    replicas: float
    leader_replicas: float
    disk: float
    cpu: float
    network_inbound: float
    network_outbound: float
    potential_nw_out: float
    topic_replicas: float = NOT_KNOWN


class ModelStats(Struct):
    """The brokers after the plan, in numbers."""

    metadata: ModelMetadata
    statistics: dict[str, Statistics]


class GoalSummary(Struct, rename="camel"):
    """What the plan does for a goal."""

    goal: str
    status: str
    optimization_time_ms: int
    cluster_model_stats: ModelStats


class PartitionName(Struct):
    """A partition."""

    topic: str
    partition: int


class ExecutionProposal(Struct, rename="camel"):
    """A partition that the plan changes."""

    topic_partition: PartitionName
    old_leader: int
    old_replicas: tuple[int, ...]
    new_replicas: tuple[int, ...]


class OptimizationResult(Struct, rename="camel"):
    """A plan. Both loads have the same brokers."""

    summary: Summary
    goal_summary: list[GoalSummary]
    load_after_optimization: ClusterLoad
    load_before_optimization: ClusterLoad
    proposals: list[ExecutionProposal] | UnsetType = UNSET
    version: int = 1


def goal_summaries(
    verdicts: Iterable[Verdict], after: Sequence[BrokerRow], topics: int, ms: int
) -> list[GoalSummary]:
    """Return what the plan does for each goal; the time is that of the whole plan."""
    stats = model_stats(after, topics)
    return [GoalSummary(each.goal.name, each.status, ms, stats) for each in verdicts]


def model_stats(rows: Sequence[BrokerRow], topics: int) -> ModelStats:
    """Return the statistics over the live brokers."""
    live = [row for row in rows if row.alive]
    metadata = ModelMetadata(len(rows), sum(row.replicas for row in rows), topics)
    kinds: dict[str, Callable[[Sequence[float]], float]] = {
        "AVG": _mean,
        "MAX": lambda values: max(values, default=0.0),
        "MIN": lambda values: min(values, default=0.0),
        "STD": _deviation,
    }
    return ModelStats(metadata, {name: _statistics(live, function) for name, function in kinds.items()})


def _statistics(rows: Sequence[BrokerRow], function: Callable[[Sequence[float]], float]) -> Statistics:
    def of(values: Iterable[float | None], unit: float) -> float:
        known = [each / unit for each in values if each is not None]
        return function(known) if len(known) == len(rows) else NOT_KNOWN

    inbound = (
        None if row.leader_in is None or row.follower_in is None else row.leader_in + row.follower_in
        for row in rows
    )
    return Statistics(
        function([float(row.replicas) for row in rows]),
        function([float(row.leaders) for row in rows]),
        function([row.bytes / MEGABYTE for row in rows]),
        of((row.cpu for row in rows), 0.01),
        of(inbound, KILOBYTE),
        of((row.bytes_out for row in rows), KILOBYTE),
        of((row.potential_out for row in rows), KILOBYTE),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _deviation(values: Sequence[float]) -> float:
    mean = _mean(values)
    return sqrt(_mean([(each - mean) ** 2 for each in values]))


def summary(
    figures: ProposalFigures,
    verdicts: Sequence[Verdict],
    coverage: float,
    excluded_topics: Sequence[str],
    notes: Iterable[str],
    unsized: int = 0,
) -> Summary:
    """Return the plan in numbers. `unsized` partitions to copy have no known size.

    `coverage` is the fraction of the partitions that are known: with their rates if these are measured, else
    with their sizes.
    """
    doubt = f"the sizes of {unsized} partitions to copy are not known: dataToMoveMB is without them"
    numbers = judged(verdicts, excluded_topics, notes, [doubt] if unsized else ())
    numbers.num_replica_movements = figures.moves
    is_known = not unsized or figures.bytes > 0
    numbers.data_to_move = ceil(figures.bytes / MEGABYTE) if is_known else round(NOT_KNOWN)
    numbers.num_leader_movements = figures.leader_changes + figures.elections
    numbers.monitored_partitions_percentage = round(100.0 * coverage, 3)
    return numbers


def judged(
    verdicts: Sequence[Verdict],
    excluded_topics: Sequence[str],
    notes: Iterable[str],
    doubts: Iterable[str] = (),
) -> Summary:
    """Return what the verdicts say, without what moves. `doubts` are what else is not known."""
    before, after = balancedness(verdicts)
    reasons = [f"{each.goal.name} cannot be judged: {each.reason}" for each in verdicts if each.reason]
    reasons += doubts
    violated = any(each.status == "VIOLATED" for each in verdicts)
    return Summary(
        excluded_topics=list(excluded_topics),
        score_before=round(before, 3),
        score_after=round(after, 3),
        provision_status="UNDECIDED" if violated or reasons else "RIGHT_SIZED",
        provision_recommendation="; ".join([*reasons, *notes]),
    )


def result(
    summary: Summary,
    goals: list[GoalSummary],
    rows: tuple[Sequence[BrokerRow], Sequence[BrokerRow]],
    changes: Sequence[Change] | None,
) -> bytes:
    """Return the answer; `rows` are the brokers before and after, `changes` those of a verbose answer."""
    before, after = rows
    answer = OptimizationResult(summary, goals, cluster_load(after), cluster_load(before))
    if changes is None:
        return encode(answer)
    answer.proposals = []
    # The encoder holds the interpreter's lock: it gets some rows at a time.
    head, _, tail = encode(answer).rpartition(b"[]")
    slices = (changes[start : start + ROWS_PER_SLICE] for start in range(0, len(changes), ROWS_PER_SLICE))
    proposals = b",".join(encode(list(map(_proposal, each)))[1:-1] for each in slices)
    return b"".join([head, b"[", proposals, b"]", tail])


def _proposal(change: Change) -> ExecutionProposal:
    leader = change.before[0] if change.before else -1
    name = PartitionName(change.topic, change.partition)
    return ExecutionProposal(name, leader, change.before, change.after)
