"""From the words and options of a user to moves between log directories, for the command line and the API.

The words are `disks` or `disks 3,4`; the options are those of `reassignd propose`, by the same names.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from controller.model.disks import BrokerDir
from planner.model.snapshot import Snapshot
from planner.proposals.disks.goal import DiskGoal
from planner.proposals.disks.result import DiskProposal
from planner.proposals.problem.goal import MissingSolverError, ProposalError
from planner.proposing import DISKS, broker_ids, check_complete, chosen_topics, read_percentage

SHARED = {"allow_unknown", "topics", "exclude_topics", "partitions", "strict_sizes"}
"""Options of every such goal."""
OF_EVENING, OF_EMPTYING = {"tolerance", "headroom"}, {"empty", "relieve_to", "allow_partial"}
OPTION_NAMES = {"weights": "--weight", "relieve_to": "--to"}
"""Those that are not called as they are named."""


def read_disk_goal(words: Sequence[str], options: Mapping[str, Any]) -> DiskGoal:
    """Read `disks`, the brokers after it, and the options. Raises ProposalError."""
    if words[0] != DISKS or len(words) > 2:
        other = words[0] if words[0] != DISKS else words[2]
        raise ProposalError([f"disks moves nothing between brokers: it cannot be combined with {other[:40]}"])
    empty = tuple(_read_dirs(options.get("empty") or ()))
    if empty and len(words) > 1:
        raise ProposalError([f"--empty names the brokers: leave out {words[1][:40]}"])
    _check_options(options, emptying=bool(empty))
    goal = DiskGoal(
        brokers=broker_ids(DISKS, words[1]) if len(words) > 1 else frozenset(),
        empty=empty,
        topics=chosen_topics(options.get("topics"), options.get("exclude_topics")),
        strict_sizes=bool(options.get("strict_sizes")),
        allow_unknown=bool(options.get("allow_unknown")),
        allow_partial=bool(options.get("allow_partial")),
    )
    if (tolerance := options.get("tolerance")) is not None:
        goal = goal._replace(tolerance=read_percentage("--tolerance", tolerance))
    if (headroom := options.get("headroom")) is not None:
        goal = goal._replace(headroom=read_percentage("--headroom", headroom))
    if (level := options.get("relieve_to")) is not None:
        goal = goal._replace(to=read_percentage("--to", level))
    if (partitions := options.get("partitions")) is not None:
        goal = goal._replace(partitions=frozenset((topic, number) for topic, number in partitions))
    return goal


def propose_disks(snapshot: Snapshot, goal: DiskGoal) -> DiskProposal:
    """Find moves.

    Raises ProposalError, also for a snapshot with holes; PartialDisksError; MissingSolverError.
    """
    check_complete(snapshot)
    topics = {topic for topic, _ in snapshot.partitions}
    if topics and not any(map(goal.topics, topics)):
        raise ProposalError(["no topic of the cluster is chosen by --topics and --exclude-topics"])
    if missing := (goal.partitions or frozenset()).difference(snapshot.partitions):
        topic, number = min(missing)
        raise ProposalError([f"partition {topic}-{number} is not in the cluster"])
    try:
        from planner.proposals.disks.solve import solve_disks
    except ModuleNotFoundError as error:
        raise MissingSolverError from error
    return solve_disks(snapshot, goal)


def _read_dirs(texts: Iterable[str | tuple[int, str]]) -> Iterable[BrokerDir]:
    """Read `3:/data2,4:/data1`; a comma within a path is a part of it. Raises ProposalError.

    A pair stays as it is.
    """
    for text in texts:
        if not isinstance(text, str):
            yield BrokerDir(*text)
            continue
        for each in re.split(r",(?=\d+:)", text):
            broker, _, path = each.partition(":")
            if not (broker.isascii() and broker.isdecimal()) or not path:
                expected = "expected BROKER:DIRECTORY, such as 3:/data2, or several, separated by commas"
                raise ProposalError([f"--empty '{each[:80]}': {expected}"])
            yield BrokerDir(int(broker), path)


def _check_options(options: Mapping[str, Any], *, emptying: bool) -> None:
    """Raise ProposalError for an option that has no meaning here."""
    allowed = SHARED | (OF_EMPTYING if emptying else OF_EVENING)
    for name in sorted(options.keys() - allowed):
        if options[name] in (None, False, "", [], ()):
            continue
        if name in OF_EMPTYING:
            raise ProposalError([f"{_option(name)} needs --empty"])
        why = " --empty" if name in OF_EVENING else ""
        raise ProposalError([f"{_option(name)} cannot be used with disks{why}"])


def _option(name: str) -> str:
    return OPTION_NAMES.get(name, "--" + name.replace("_", "-"))
