"""From a snapshot to moves between the log directories of its brokers."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from common.wording import counted, some
from planner.model.snapshot import Broker, Snapshot
from planner.proposals.disks.broker_moves import BrokerMoves, changes_of, moves_of
from planner.proposals.disks.emptied import emptied
from planner.proposals.disks.evened import evened
from planner.proposals.disks.exact import Effort
from planner.proposals.disks.goal import DiskGoal
from planner.proposals.disks.held import BrokerDirs, held_by, is_sized
from planner.proposals.disks.result import DiskProposal, PartialDisksError
from planner.proposals.problem.goal import ProposalError
from planner.proposals.size_notes import of_unknown_size


def solve_disks(snapshot: Snapshot, goal: DiskGoal) -> DiskProposal:
    """Return the moves.

    Raises ProposalError if the goal contradicts the cluster, and PartialDisksError if a directory cannot be
    emptied.
    """
    brokers, notes = _to_empty(snapshot, goal) if goal.empty else _to_even_out(snapshot, goal)
    held = held_by(snapshot, brokers, goal)
    unknown = _unknown_sizes(held, goal)
    effort, found = Effort(), dict[int, BrokerMoves]()
    for broker in brokers:
        dirs = held[broker]
        sources = [dirs.place_of[path] for each, path in goal.empty if each == broker]
        found[broker] = emptied(dirs, sources, goal, effort) if sources else evened(dirs, goal, effort)
    moves = sorted(move for each in brokers for move in moves_of(held[each], found[each]))
    parts = [found[each] for each in brokers]
    proposal = DiskProposal(
        tuple(moves),
        tuple(change for each in brokers for change in changes_of(held[each], found[each])),
        {move[:2]: snapshot.partitions[move[:2]].replicas for move in moves},
        tuple(left for part in parts for left in part.left),
        sum(part.bound for part in parts),
        tuple(line for part in parts for line in part.short),
        (*notes, *(line for part in parts for line in part.notes), *_moving(held), *unknown),
    )
    if goal.empty and proposal.short and not goal.allow_partial:
        raise PartialDisksError(proposal)
    return proposal


def _moving(held: Mapping[int, BrokerDirs]) -> list[str]:
    """Return a line about replicas that are on their way to another directory."""
    moving = {each: dirs.moving for each, dirs in held.items() if dirs.moving}
    if not moving:
        return []
    replicas = counted(sum(moving.values()), "replica")
    return [
        f"counted in the directories that they are being moved to: {replicas} (on brokers {some([*moving])})"
    ]


def _unknown_sizes(held: Mapping[int, BrokerDirs], goal: DiskGoal) -> list[str]:
    """Return a line about sizes that are not known. Raises ProposalError if that is asked for."""
    unknown = {each: dirs.unknown_sizes for each, dirs in held.items() if dirs.unknown_sizes}
    if not unknown:
        return []
    line = of_unknown_size(sum(unknown.values()), sorted(unknown), strict=goal.strict_sizes)
    if goal.strict_sizes:
        raise ProposalError([line])
    return [line]


def _to_empty(snapshot: Snapshot, goal: DiskGoal) -> tuple[Sequence[int], list[str]]:
    """Return the brokers with directories that are to be emptied. Raises ProposalError."""
    named: dict[int, set[str]] = defaultdict(set)
    for broker, path in goal.empty:
        named[broker].add(path)
    reasons = [_cannot_empty(snapshot.brokers.get(each), each, named[each], goal) for each in sorted(named)]
    if any(reasons):
        raise ProposalError([each for each in reasons if each])
    return sorted(named), []


def _cannot_empty(broker: Broker | None, number: int, paths: set[str], goal: DiskGoal) -> str | None:
    """Return why directories of a broker cannot be emptied; None if they can."""
    if broker is None or not broker.live or not broker.dirs:
        return _cannot_move(broker, number)
    known = sorted(broker.dirs)
    if unknown := sorted(paths.difference(known)):
        return f"broker {number} has no log directory {unknown[0]}; it has {some(known, 20)}"
    if len(known) == 1:
        return (
            f"broker {number} has one log directory, {known[0]}: its replicas have to leave the broker, by"
            f" `propose drain {number}`"
        )
    if len(paths) == len(known):
        return f"broker {number}: these are all of its log directories, and none is left for the replicas"
    sized = any(map(is_sized, broker.dirs.values()))
    return None if sized or goal.allow_unknown else _unsized(number)


def _to_even_out(snapshot: Snapshot, goal: DiskGoal) -> tuple[Sequence[int], list[str]]:
    """Return the brokers with directories to even out, and notes about others. Raises ProposalError."""
    named = sorted(goal.brokers or snapshot.brokers)
    reasons = {each: _cannot_even_out(snapshot.brokers.get(each), each, goal) for each in named}
    able = [each for each in named if reasons[each] is None]
    others = [reason for reason in reasons.values() if reason is not None]
    if others and (goal.brokers or not able):
        raise ProposalError(others)
    return able, _as_notes(snapshot.brokers[each] for each in named if reasons[each])


def _cannot_even_out(broker: Broker | None, number: int, goal: DiskGoal) -> str | None:
    if broker is None or not broker.live or not broker.dirs:
        return _cannot_move(broker, number)
    if len(broker.dirs) == 1:
        return (
            f"broker {number} has one log directory, {next(iter(broker.dirs))}: there is nothing to even out"
        )
    sized = sum(map(is_sized, broker.dirs.values()))
    return _unsized(number) if sized < (0 if goal.allow_unknown else 2) else None


def _unsized(number: int) -> str:
    return (
        f"broker {number} does not report the size of its log directories (Kafka 3.3); --allow-unknown takes"
        " them as equally large"
    )


def _cannot_move(broker: Broker | None, number: int) -> str:
    if broker is None:
        return f"broker {number} is not in the cluster"
    if not broker.live:
        return f"broker {number} is offline"
    return f"the log directories of broker {number} are not known: take a new snapshot"


def _as_notes(brokers: Iterable[Broker]) -> list[str]:
    """Return a line for each reason why brokers are left as they are. One directory needs none."""
    kinds: dict[str, list[int]] = defaultdict(list)
    for each in brokers:
        if not each.live:
            kinds["offline"].append(each.id)
        elif not each.dirs:
            kinds["their log directories are not known"].append(each.id)
        elif len(each.dirs) > 1:
            kinds["the sizes of their log directories are not known"].append(each.id)
    return [
        f"left as they are: {counted(len(ids), 'broker')}: {some(ids)}: {why}" for why, ids in kinds.items()
    ]
