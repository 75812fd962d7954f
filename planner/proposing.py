"""From the words and options of a user to a proposal for a cluster, for the command line and the API."""

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from common.counted import counted
from planner.proposals.goals_text import broker_ids, read_goal, read_tolerance, read_weights
from planner.proposals.problem.goal import Goal, MissingSolverError, ProposalError, Spread, problem_from
from planner.proposals.problem.nodes import own_rack
from planner.proposals.proposal import Proposal, propose
from planner.snapshot import TOPIC_PARTITION, Broker, Snapshot

if TYPE_CHECKING:
    from planner.proposals.problem.columns import Columns


class GoalOptions(NamedTuple):
    """A goal, the topics that may change, and whether partitions that are being reassigned are left out."""

    goal: Goal
    topics: Callable[[str], bool]
    skip_moving: bool = False
    choice: str = ""
    """The options that choose the topics, for messages."""


def read_goal_options(words: Sequence[str], options: Mapping[str, Any]) -> GoalOptions:
    """Read goals such as `drain 7 add 31` and the options of `reassignd propose` by name. Raises ProposalError."""
    goal = read_goal(words)
    if (tolerance := options.get("tolerance")) is not None:
        goal = goal._replace(tolerance=read_tolerance(tolerance))
    if (leaders := options.get("leaders")) is not None:
        goal = goal._replace(even_leaders=leaders == "balance")
    if (excluded := options.get("exclude_brokers")) is not None:
        goal = goal._replace(receive_nothing=broker_ids("--exclude-brokers", excluded))
    if (byte_tolerance := options.get("byte_tolerance")) is not None:
        goal = goal._replace(byte_tolerance=_percentage("--byte-tolerance", byte_tolerance))
    if (headroom := options.get("headroom")) is not None:
        goal = goal._replace(headroom=_percentage("--headroom", headroom))
    if (max_bytes := options.get("max_bytes")) is not None:
        goal = goal._replace(max_bytes=read_bytes(max_bytes))
    goal = goal._replace(
        by=options.get("by") or goal.by,
        spread=_spread(goal, options.get("spread")),
        minimize=options.get("minimize") or "moves",
        strict_racks=bool(options.get("strict_racks")),
        max_moves=options.get("max_moves"),
        repair_racks=goal.repair_racks or bool(options.get("fix_racks")),
        rack_aware=not options.get("disable_rack_aware"),
        weights=read_weights(options.get("weights") or ()),
    )
    chosen, excluded = options.get("topics"), options.get("exclude_topics")
    given = {"--topics": chosen, "--exclude-topics": excluded}
    choice = " and ".join(f"{option} '{text}'" for option, text in given.items() if text is not None)
    return GoalOptions(goal, chosen_topics(chosen, excluded), bool(options.get("skip_moving")), choice)


def _spread(goal: Goal, wanted: Spread | None) -> Spread:
    if wanted == "topic" and not goal.even_counts:
        raise ProposalError(["--spread topic moves replicas of healthy brokers: it needs add or balance"])
    return wanted or "cluster"


def _percentage(option: str, text: str) -> Fraction:
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


def propose_for(snapshot: Snapshot, goal_options: GoalOptions) -> Proposal:
    """Find a plan. Raises ProposalError, also for a snapshot with holes and for moves under way; MissingSolverError."""
    if (hole := snapshot.hole()) is not None:
        raise ProposalError(
            [f"the snapshot is not complete: topic {hole[0]} has no partition {hole[1]}; take a new snapshot"]
        )
    moving = {key for key, row in snapshot.partitions.items() if row.target}
    if deleting := {row.topic for row in snapshot.partitions.values() if row.deleting}:
        chosen = goal_options.topics
        goal_options = goal_options._replace(topics=lambda topic: topic not in deleting and chosen(topic))
    try:
        from planner.proposals.problem.columns import columns_of
    except ModuleNotFoundError as error:
        raise MissingSolverError from error
    return propose_from(snapshot.brokers, columns_of(snapshot, moving), goal_options)


def propose_from(cluster: Mapping[int, Broker], columns: "Columns", goal_options: GoalOptions) -> Proposal:
    """Find a plan for the brokers and partitions of a cluster. Raises ProposalError, MissingSolverError."""
    topics = columns.topics
    if topics and not any(map(goal_options.topics, topics)):
        raise ProposalError([f"no topic of the cluster is chosen by {goal_options.choice}"])
    under_way = [
        row for row in columns.moving.nonzero()[0].tolist() if goal_options.topics(topics[columns.topic[row]])
    ]
    if under_way and not goal_options.skip_moving:
        raise ProposalError([_under_way(columns.name(under_way[0]), len(under_way) - 1)])
    cluster = _with_failed_brokers(cluster, columns, goal_options.goal)
    return propose(problem_from(cluster, columns, goal_options.goal, goal_options.topics))


def _with_failed_brokers(
    cluster: Mapping[int, Broker], columns: "Columns", goal: Goal
) -> Mapping[int, Broker]:
    """Add brokers that are to be drained and that only replica lists name: Kafka before 4.0 does not list failed brokers."""
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
