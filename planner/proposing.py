"""From the words and options of a user to a proposal for a cluster, for the command line and the API.

Goals are words, as the command line takes them: `drain 7,8 add 31`. The cluster is a snapshot, or a file that
Spark reads.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from common.wording import counted
from planner.model.snapshot import TOPIC_PARTITION, Broker, Snapshot, read_snapshot
from planner.proposals.problem.factors import TopicFactor
from planner.proposals.problem.goal import (
    LEADER_LOADS,
    RATE_LOADS,
    Goal,
    LoadName,
    Measure,
    MissingSolverError,
    Problem,
    ProposalError,
    Spread,
    problem_from,
)
from planner.proposals.problem.nodes import own_rack
from planner.proposals.result import PartialPlanError, Proposal

if TYPE_CHECKING:
    from planner.proposals.problem.arrays import Flags
    from planner.proposals.problem.table import Columns
    from planner.spark import Session


LOADS: tuple[LoadName, ...] = get_args(LoadName)
SETS_OF_LOADS: Mapping[str, frozenset[LoadName]] = {
    "both": frozenset({"replicas", "bytes"}),
    "load": frozenset({"bytes", "in", "out"}),
}
"""Words for several loads."""
LOADS_OF_MEASURES: Mapping[Measure, frozenset[LoadName]] = {
    "replicas": frozenset({"replicas"}),
    "bytes": frozenset({"bytes"}),
    "both": frozenset({"replicas", "bytes"}),
}
"""What is evened out without rates."""
MEASURES: Mapping[frozenset[LoadName], Measure] = {loads: by for by, loads in LOADS_OF_MEASURES.items()}


class GoalOptions(NamedTuple):
    """A goal, the partitions that may change, and whether those that are being reassigned are left out."""

    goal: Goal
    topics: Callable[[str], bool]
    skip_moving: bool = False
    choice: str = ""
    """The options that choose the topics, for messages."""
    strict_sizes: bool = False
    """Refuse a cluster of which the size of a replica is not known."""
    partitions: frozenset[TOPIC_PARTITION] | None = None
    """Those of the topics that may change; None: all of them."""
    allow_unknown: bool = False
    """Count rates as 0 where they are not known, rather than refuse the plan."""


def read_goal_options(words: Sequence[str], options: Mapping[str, Any]) -> GoalOptions:
    """Read goals such as `drain 7 add 31` and the options of `reassignd propose` by name.

    Raises ProposalError.
    """
    if options.get("empty"):
        raise ProposalError([f"--empty needs {DISKS}"])
    goal = _with_levels(read_goal(words), options)
    goal = _with_relief(goal, words, options)
    goal = goal._replace(
        spread=_spread(goal, options.get("spread")),
        minimize=options.get("minimize") or ("bytes" if goal.relieves else "moves"),
        strict_racks=bool(options.get("strict_racks")),
        max_moves=options.get("max_moves"),
        repair_racks=goal.repair_racks or bool(options.get("fix_racks")),
        rack_aware=not options.get("disable_rack_aware"),
        weights=read_weights(options.get("weights") or ()),
    )
    goal = _with_loads(goal, options)
    chosen, excluded = options.get("topics"), options.get("exclude_topics")
    given = {"--topics": chosen, "--exclude-topics": excluded}
    choice = " and ".join(f"{option} '{text}'" for option, text in given.items() if text is not None)
    may_change = chosen_topics(chosen, excluded)
    if goal.factors and _given(words).keys() == {"rf"}:
        may_change, choice = _only_of_factors(goal, may_change), choice or f"rf {goal.factors[0]}"
    partitions = options.get("partitions")
    return GoalOptions(
        goal,
        may_change,
        bool(options.get("skip_moving")),
        choice,
        bool(options.get("strict_sizes")),
        None if partitions is None else frozenset((topic, number) for topic, number in partitions),
        bool(options.get("allow_unknown")),
    )


def _with_levels(goal: Goal, options: Mapping[str, Any]) -> Goal:
    """Return the goal with the options that have a default of their own. Raises ProposalError."""
    if (tolerance := options.get("tolerance")) is not None:
        goal = goal._replace(tolerance=read_tolerance(tolerance))
    if (leaders := options.get("leaders")) is not None:
        goal = goal._replace(even_leaders=leaders == "balance")
    if (excluded := options.get("exclude_brokers")) is not None:
        goal = goal._replace(receive_nothing=broker_ids("--exclude-brokers", excluded))
    if (byte_tolerance := options.get("byte_tolerance")) is not None:
        goal = goal._replace(byte_tolerance=read_percentage("--byte-tolerance", byte_tolerance))
    if (headroom := options.get("headroom")) is not None:
        goal = goal._replace(headroom=read_percentage("--headroom", headroom))
    if (max_bytes := options.get("max_bytes")) is not None:
        goal = goal._replace(max_bytes=read_bytes(max_bytes))
    return goal


def _with_loads(goal: Goal, options: Mapping[str, Any]) -> Goal:
    """Return the goal with --by, --tolerance-of and --at. Raises ProposalError."""
    by, at = options.get("by"), options.get("at")
    tolerances = _tolerances(options.get("tolerance_of") or ())
    loads = _loads(by) if by is not None else LOADS_OF_MEASURES[goal.by]
    if by is None and not goal.even_counts:
        if tolerances or at is not None:
            option = "--tolerance-of" if tolerances else "--at"
            raise ProposalError([f"{option} needs --by, or add or balance"])
        return goal
    if other := sorted(tolerances.keys() - loads):
        raise ProposalError([f"--tolerance-of {other[0]}: --by does not name {other[0]}"])
    if at is not None and loads.isdisjoint(RATE_LOADS):
        raise ProposalError([f"--at needs --by with {_in_words(RATE_LOADS)}"])
    ordered = tuple(each for each in LOADS if each in loads)
    named = goal._replace(loads=ordered, tolerance_of=tolerances, at=at or goal.at)
    if not goal.even_counts:
        return _keeping(named, options)
    if loads in MEASURES:
        measured = goal._replace(by=MEASURES[loads])
        measured = measured._replace(tolerance=tolerances.get("replicas", goal.tolerance))
        return measured._replace(byte_tolerance=tolerances.get("bytes", goal.byte_tolerance))
    if goal.spread == "topic":
        raise ProposalError([f"--spread topic cannot be combined with --by {_in_words(RATE_LOADS)}"])
    if options.get("leaders") == "keep" and not loads.isdisjoint(LEADER_LOADS):
        raise ProposalError([f"--by {_in_words(LEADER_LOADS)} changes leaders: it needs --leaders balance"])
    return named


def _keeping(goal: Goal, options: Mapping[str, Any]) -> Goal:
    """Return a goal that does not even out loads, but keeps their ranges. Raises ProposalError."""
    if goal.changes_order_only and (goal.demote or not set(goal.loads) <= set(LEADER_LOADS)):
        which = f"leaders takes {_in_words(LEADER_LOADS)}, and demote none"
        raise ProposalError([f"--by needs add, balance, drain, relieve, rf, repair or racks; {which}"])
    if options.get("tolerance") is None:
        goal = goal._replace(tolerance=DEFAULT_TOLERANCE)
    if not goal.relieves:
        return goal
    if goal.relieve_over is None and options.get("relieve_to") is None:
        return goal._replace(relieve_loads=True)
    if "bytes" in goal.tolerance_of:
        raise ProposalError(["--tolerance-of bytes: --to and --relieve say how full disks may be"])
    loads = tuple(each for each in LOADS if each == "bytes" or each in goal.loads)
    return goal._replace(loads=loads, tolerance_of={**goal.tolerance_of, "bytes": Fraction(0)})


def _in_words(loads: Iterable[LoadName]) -> str:
    names = [each for each in LOADS if each in loads]
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _loads(text: str) -> frozenset[LoadName]:
    """Read `bytes,in,out`. Raises ProposalError."""
    names: set[LoadName] = set()
    for each in text.split(","):
        if each in SETS_OF_LOADS:
            names |= SETS_OF_LOADS[each]
        elif each in LOADS:
            names.add(each)
        else:
            expected = ", ".join((*LOADS, *SETS_OF_LOADS))
            raise ProposalError([f"--by '{text[:40]}': expected {expected}, or several, separated by commas"])
    return frozenset(names)


def _tolerances(texts: Iterable[str]) -> dict[LoadName, Fraction]:
    """Read `in=10%`, once for each load. Raises ProposalError."""
    tolerances: dict[LoadName, Fraction] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in LOADS or name in tolerances:
            raise ProposalError(
                [f"--tolerance-of '{text[:40]}': expected LOAD=PERCENT once for each of {', '.join(LOADS)}"]
            )
        tolerances[name] = read_percentage("--tolerance-of", value)
    return tolerances


def _with_relief(goal: Goal, words: Sequence[str], options: Mapping[str, Any]) -> Goal:
    """Return the goal with --relieve, --to and --allow-partial. Raises ProposalError."""
    over_to, to = options.get("relieve"), options.get("relieve_to")
    partial = bool(options.get("allow_partial"))
    over = None
    if over_to is not None:
        first, colon, second = over_to.partition(":")
        if to is not None or not colon:
            raise ProposalError([f"--relieve '{over_to}': expected OVER:TO without --to, such as 85%:75%"])
        over, to = read_percentage("--relieve", first), second
    goal = goal._replace(relieve_over=over, allow_partial=partial)
    if not goal.relieves:
        if to is not None:
            raise ProposalError(["--to needs relieve, or --relieve"])
        if partial and options.get("by") is None:
            raise ProposalError(["--allow-partial needs relieve, --relieve or --by"])
        return goal
    if others := [word for word in _given(words) if word != "relieve"]:
        raise ProposalError([f"relieve moves nothing else: it cannot be combined with {others[0]}"])
    level = read_percentage("--to" if over is None else "--relieve", to or DEFAULT_LEVEL)
    if over is not None and level > over:
        raise ProposalError([f"--relieve '{over_to}': the second level must not be above the first"])
    return goal._replace(relieve_to=level)


def _spread(goal: Goal, wanted: Spread | None) -> Spread:
    if wanted == "topic" and not goal.even_counts:
        raise ProposalError(["--spread topic moves replicas of healthy brokers: it needs add or balance"])
    return wanted or "cluster"


def read_percentage(option: str, text: str) -> Fraction:
    """Read the value of an option, such as `5%`. Raises ProposalError."""
    try:
        return read_tolerance(text)
    except ProposalError as error:
        raise ProposalError([f"{option} '{text}': expected a percentage below 100%, such as 5%"]) from error


def read_bytes(text: str) -> int:
    """Read `500GiB`, `1.5TiB` or `1000` (bytes). Raises ProposalError."""
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,6})?) ?([KMGTP]i?B|B)?", text)
    if match is None:
        raise ProposalError([f"--max-bytes '{text}': expected a number of bytes, such as 500GiB"])
    unit = match[2] or "B"
    base = 1024 if "i" in unit else 1000
    return int(Fraction(match[1]) * base ** " KMGTP".index(unit[0] if unit != "B" else " "))


def check_complete(snapshot: Snapshot) -> None:
    """Raise ProposalError for a snapshot with holes."""
    if (hole := snapshot.hole()) is not None:
        raise ProposalError(
            [f"the snapshot is not complete: topic {hole[0]} has no partition {hole[1]}; take a new snapshot"]
        )


def propose_for(snapshot: Snapshot, goal_options: GoalOptions) -> Proposal:
    """Find a plan.

    Raises ProposalError, also for a snapshot with holes and for moves under way; MissingSolverError.
    """
    check_complete(snapshot)
    changing = [row for row in snapshot.partitions.values() if row.target is not None]
    moving = {(row.topic, row.partition) for row in changing if not row.deleting}
    if deleting := {row.topic for row in changing if row.deleting}:
        chosen = goal_options.topics
        goal_options = goal_options._replace(topics=lambda topic: topic not in deleting and chosen(topic))
    try:
        from planner.proposals.problem.table import columns_of
    except ModuleNotFoundError as error:
        raise MissingSolverError from error
    return propose_from(snapshot.brokers, columns_of(snapshot, moving), goal_options)


def propose_from(cluster: Mapping[int, Broker], columns: "Columns", goal_options: GoalOptions) -> Proposal:
    """Find a plan for the brokers and partitions of a cluster. Raises ProposalError, MissingSolverError."""
    from planner.proposals.problem.loads import unknown_rates
    from planner.proposals.problem.lost import lost_notes, lost_replicas, rows_of
    from planner.proposals.size_notes import tiered_note, unknown_sizes

    chosen, notes = _chosen_rows(columns, goal_options), list[str]()
    if goal_options.goal.repair:
        lost = lost_replicas(cluster, columns, goal_options.goal)
        chosen &= rows_of(columns, lost)
        notes += lost_notes(cluster, columns, lost, chosen)
    under_way = (columns.moving & chosen).nonzero()[0].tolist()
    if under_way and not goal_options.skip_moving:
        raise ProposalError([_under_way(columns.name(under_way[0]), len(under_way) - 1)])
    unknown = unknown_sizes(columns, strict=goal_options.strict_sizes)
    if unknown and goal_options.strict_sizes:
        raise ProposalError([unknown])
    cluster = _with_failed_brokers(cluster, columns, goal_options.goal)
    problem = problem_from(cluster, columns, goal_options.goal, chosen)
    rates = unknown_rates(problem)
    if rates.needed and not goal_options.allow_unknown:
        raise ProposalError([f"{rates.needed}; --allow-unknown counts them as 0"])
    proposal = propose(problem)
    counted_as_0 = rates.needed and f"{rates.needed}: they count as 0"
    idle = rates.others and f"{rates.others}: they count as 0, as the plan does not depend on them"
    more = counted_as_0, idle, unknown, tiered_note(columns, proposal)
    return proposal._replace(notes=(*notes, *proposal.notes, *filter(None, more)))


def _chosen_rows(columns: "Columns", goal_options: GoalOptions) -> "Flags":
    """Return which rows may change.

    Raises ProposalError for a choice without topics, or with a partition that does not exist.
    """
    from planner.proposals.problem.table import rows_of_topics

    if columns.topics and not any(map(goal_options.topics, columns.topics)):
        raise ProposalError([f"no topic of the cluster is chosen by {goal_options.choice}"])
    rows = rows_of_topics(columns, goal_options.topics)
    if goal_options.partitions is None:
        return rows
    rows &= rows_of_topics(columns, {topic for topic, _ in goal_options.partitions}.__contains__)
    named = [row for row in rows.nonzero()[0].tolist() if columns.name(row) in goal_options.partitions]
    if missing := goal_options.partitions.difference(map(columns.name, named)):
        topic, number = min(missing)
        raise ProposalError([f"partition {topic}-{number} is not in the cluster, or its topic is not chosen"])
    rows[:] = False
    rows[named] = True
    return rows


def _with_failed_brokers(
    cluster: Mapping[int, Broker], columns: "Columns", goal: Goal
) -> Mapping[int, Broker]:
    """Add brokers that are to be drained and that only replica lists name.

    Kafka before 4.0 does not list failed brokers.
    """
    unlisted = goal.drain - cluster.keys()
    if unlisted:
        unlisted = unlisted.intersection(columns.ids.tolist())
    racks = any(broker.rack is not None for broker in cluster.values())
    failed = {each: Broker(each, own_rack(each) if racks else None, live=False) for each in unlisted}
    return {**cluster, **failed}


def _under_way(first: TOPIC_PARTITION, more: int) -> str:
    name = f"{first[0]}-{first[1]}"
    who = f"{name} is" if not more else f"{name} and {counted(more, 'more partition')} are"
    return f"{who} being reassigned or queued; wait for the end, or leave them out with --skip-moving"


def chosen_topics(chosen: str | None, excluded: str | None) -> Callable[[str], bool]:
    """Return which topics the options --topics and --exclude-topics choose. Raises ProposalError."""
    include, exclude = _pattern("--topics", chosen), _pattern("--exclude-topics", excluded)

    def may_change(topic: str) -> bool:
        return (include is None or include.fullmatch(topic) is not None) and (
            exclude is None or exclude.fullmatch(topic) is None
        )

    return may_change


def _pattern(option: str, text: str | None) -> re.Pattern[str] | None:
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise ProposalError([f"{option} '{text}' is not a regular expression: {error}"]) from error


DEFAULT_TOLERANCE = Fraction(1, 20)
DEFAULT_LEVEL = "75%"
"""How full relieved brokers are to be."""

WITH_VALUE = {
    "drain": "broker ids, such as drain 3,4",
    "demote": "broker ids, such as demote 3,4",
    "relieve": "broker ids, such as relieve 3,4",
    "add": "broker ids, such as add 7",
    "rf": "a replication factor, such as rf 3, or factors of topics, such as rf 3:'a.*' 2:'b.*'",
}
WITHOUT_VALUE = ("balance", "racks", "leaders", "repair")
DISKS = "disks"
"""The goal that moves replicas within brokers only; `planner.disk_proposing` reads it."""


def read_goal(words: Sequence[str]) -> Goal:
    """Combine goals.

    `add` and `balance` even out counts, bytes and leaders within 5 %. Raises ProposalError.
    """
    given = _given(words)
    drain, demoted, relieved, added = (
        broker_ids(name, given[name][0]) if name in given else frozenset[int]()
        for name in ("drain", "demote", "relieve", "add")
    )
    if both := drain & added:
        raise ProposalError([f"broker {min(both)} cannot be both drained and added"])
    if both := drain & demoted:
        raise ProposalError([f"broker {min(both)} is drained: it leads nothing afterwards; do not demote it"])
    if "repair" in given and len(given) > 1:
        other = next(name for name in given if name != "repair")
        raise ProposalError([f"repair moves nothing else: it cannot be combined with {other}"])
    even = bool(given.keys() & {"add", "balance"})
    factor, factors = _factors(given.get("rf", ()))
    return Goal(
        drain=drain,
        demote=demoted,
        relieve=relieved,
        add=added,
        factor=factor,
        factors=factors,
        even_counts=even,
        tolerance=DEFAULT_TOLERANCE if even else Fraction(0),
        repair="repair" in given,
        repair_racks="racks" in given,
        even_leaders=even or "leaders" in given,
        by="both" if even else "replicas",
    )


def broker_ids(name: str, text: str) -> frozenset[int]:
    """Read `7,8` as the value of the goal or option `name`. Raises ProposalError."""
    try:
        return frozenset(read_broker_ids(text))
    except ValueError as error:
        raise ProposalError([f"{name} '{text}': {error}"]) from error


def read_broker_ids(text: str) -> list[int]:
    """Read `7,8`. Raises ValueError, which says what was expected."""
    parts = text.split(",")
    if not all(part.isascii() and part.isdecimal() for part in parts) or len(set(parts)) != len(parts):
        raise ValueError("expected different broker ids, separated by commas")
    return [int(part) for part in parts]


def read_tolerance(text: str) -> Fraction:
    """Read `5%` or `0.05`. Raises ProposalError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(%?)", text)
    if match is None or (value := Fraction(match[1]) / (100 if match[2] else 1)) >= 1:
        raise ProposalError([f"tolerance '{text}': expected a percentage below 100%, such as 5%"])
    return value


def read_weights(texts: Iterable[str]) -> Mapping[int, Fraction]:
    """Read `7=0.5`, once for each broker. Raises ProposalError."""
    weights: dict[int, Fraction] = {}
    for text in texts:
        match = re.fullmatch(r"(\d+)=(\d+(?:\.\d+)?)", text)
        if match is None or int(match[1]) in weights or Fraction(match[2]) == 0:
            raise ProposalError(
                [f"weight '{text}': expected ID=FACTOR once for each broker, with a factor above 0"]
            )
        weights[int(match[1])] = Fraction(match[2])
    return weights


def _given(words: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of each goal: one, or any number of factors of topics. Raises ProposalError."""
    given: dict[str, list[str]] = {}
    remaining = deque(words)
    while remaining:
        name = remaining.popleft()
        if name in given:
            raise ProposalError([f"{name} is given twice"])
        if name in WITHOUT_VALUE:
            given[name] = []
        elif name in WITH_VALUE:
            if not remaining:
                raise ProposalError([f"{name} needs {WITH_VALUE[name]}"])
            given[name] = [remaining.popleft()]
            while name == "rf" and remaining and TOPIC_FACTOR.match(remaining[0]):
                given[name].append(remaining.popleft())
        else:
            goals = [*WITH_VALUE, *WITHOUT_VALUE, DISKS]
            similar = get_close_matches(name, goals, 1)
            hint = f"did you mean {similar[0]}?" if similar else f"expected {', '.join(goals)}"
            raise ProposalError([f"unknown goal '{name[:40]}'; {hint}"])
    return given


TOPIC_FACTOR = re.compile(r"(\d+):")
"""What the factor of some topics begins with."""


def _factors(texts: Sequence[str]) -> tuple[int | None, tuple[TopicFactor, ...]]:
    """Read `3` as the factor of all chosen topics, or `3:a.*` and `2:b.*`. Raises ProposalError."""
    if len(texts) == 1 and not TOPIC_FACTOR.match(texts[0]):
        return _factor(texts[0]), ()
    factors = []
    for text in texts:
        factor, colon, topics = text.partition(":")
        if not colon:
            raise ProposalError([f"rf '{text}' is a factor of all topics: leave out those of some topics"])
        _pattern(f"rf {factor}:", topics)  # says what is wrong
        factors.append(TopicFactor(_factor(factor), topics))
    return None, tuple(factors)


def _only_of_factors(goal: Goal, may_change: Callable[[str], bool]) -> Callable[[str], bool]:
    """Return which topics change if factors are the only goal: those that get one."""
    patterns = [re.compile(each.topics) for each in goal.factors]
    return lambda topic: may_change(topic) and any(each.fullmatch(topic) for each in patterns)


def _factor(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or not 0 < int(text) < 2**15:
        raise ProposalError([f"rf '{text}': expected a replication factor from 1"])
    return int(text)


def propose(problem: Problem) -> Proposal:
    """Find a plan with the fewest moves. Raises ProposalError, MissingSolverError."""
    try:
        from planner.proposals.by_load.solve_loads import solve_loads
        from planner.proposals.outcome import outcome
        from planner.proposals.solver.solve import solve
    except ModuleNotFoundError as error:
        raise MissingSolverError from error
    solution = solve_loads(problem) if problem.goal.loads else solve(problem)
    proposal = outcome(problem, solution)
    missed = [*solution.short, *(line for each in proposal.loads for line in each.outside)]
    proposal = proposal._replace(partial=bool(missed))
    if missed and not (problem.goal.even_counts or problem.goal.allow_partial):
        accept = "--allow-partial accepts a plan that comes as near as possible"
        raise PartialPlanError([*missed, accept], proposal)
    return proposal._replace(notes=(*proposal.notes, *solution.short))


def propose_on(spark: "Session", path: Path, goal_options: GoalOptions) -> tuple[Snapshot, Proposal]:
    """Return the cluster, without its partitions, and the proposal.

    Raises PlanError, ProposalError, MissingSolverError.

    A snapshot with an invalid or unusual row is read again in Python, which names the row.
    """
    try:
        from planner.spark_snapshot import UnusualSnapshotError, read_cluster
    except ModuleNotFoundError as error:
        raise MissingSolverError from error
    try:
        cluster = read_cluster(spark, path)
    except (UnusualSnapshotError, OSError):
        snapshot = read_snapshot(path)
        return snapshot._replace(partitions={}), propose_for(snapshot, goal_options)
    head = Snapshot(dict(cluster.brokers), {}, cluster.cluster_id)
    return head, propose_from(cluster.brokers, cluster.columns, goal_options)
