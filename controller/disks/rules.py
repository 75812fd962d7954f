"""The rules by which moves between log directories go on.

Brokers are asked again and again what they have (DescribeLogDirs), and each look is compared with the moves:
nothing depends on the answer to an earlier request. So a restart of this server or of a broker loses nothing.

A broker copies the replica to a *future* log in the target directory, which replaces the first log when it
has caught up. A request for the directory that the replica is in drops the future log (Kafka:
ReplicaManager.alterReplicaLogDirs). A future log survives a restart of the broker.

At most `reassignment.disk.moves.per.broker` replicas move at once in one broker. None starts to a directory
that failed, is cordoned or is not known, nor if it would fill the directory beyond
`reassignment.max.disk.usage` with all that is still to arrive there.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, auto
from itertools import chain, islice

from controller.cluster.cluster_values import too_full
from controller.cluster.config_keys import BROKER_KEYS
from controller.messages.disk_events import Ask, DisksSeen, MovesRefused, SeenBroker
from controller.model.cluster import ResourceType
from controller.model.configs import CORDONED_LOG_DIRS, DISK_MOVES
from controller.model.disks import BrokerReplica, DiskMove, MoveStage
from controller.model.limits import UNLIMITED
from controller.model.replicas import StoredReplica
from controller.reassignment.move_endings import ROWS_PER_SLICE, end_move
from controller.state.settings import CLUSTER_DEFAULT
from controller.state.state import Decision, State

RETRY_MS = 30_000
"""Pause before a broker is asked again for what it has refused."""
LOOKED_AT = 100
"""Waiting moves of a broker that one look is about: so many that may start, and so many others."""


class Sight(Enum):
    """What a look at its broker shows of a move."""

    RESTING = auto()
    """The replica is in its source; no copy of it is made."""
    COPYING = auto()
    """A future log is in the target."""
    DIVERTED = auto()
    """A future log is in another directory."""
    ARRIVED = auto()
    ELSEWHERE = auto()
    """The replica is in a directory that is neither source nor target."""
    ABSENT = auto()
    """The broker shows no log of it, for instance because the directory failed."""


NEXT = {
    (MoveStage.WAITING, Sight.RESTING): MoveStage.WAITING,
    (MoveStage.WAITING, Sight.COPYING): MoveStage.MOVING,
    (MoveStage.WAITING, Sight.DIVERTED): MoveStage.TAKEN,
    (MoveStage.WAITING, Sight.ARRIVED): MoveStage.DONE,
    (MoveStage.WAITING, Sight.ELSEWHERE): MoveStage.TAKEN,
    (MoveStage.WAITING, Sight.ABSENT): MoveStage.WAITING,
    # A broker that has not got the request, or has lost the future log, is asked again by the rules of a
    # start: the target may have failed meanwhile.
    (MoveStage.MOVING, Sight.RESTING): MoveStage.WAITING,
    (MoveStage.MOVING, Sight.COPYING): MoveStage.MOVING,
    (MoveStage.MOVING, Sight.DIVERTED): MoveStage.TAKEN,
    (MoveStage.MOVING, Sight.ARRIVED): MoveStage.DONE,
    (MoveStage.MOVING, Sight.ELSEWHERE): MoveStage.TAKEN,
    (MoveStage.MOVING, Sight.ABSENT): MoveStage.WAITING,
    (MoveStage.RETURNING, Sight.RESTING): MoveStage.ROLLED_BACK,
    (MoveStage.RETURNING, Sight.COPYING): MoveStage.RETURNING,
    (MoveStage.RETURNING, Sight.DIVERTED): MoveStage.TAKEN,
    (MoveStage.RETURNING, Sight.ARRIVED): MoveStage.DONE,
    (MoveStage.RETURNING, Sight.ELSEWHERE): MoveStage.TAKEN,
    (MoveStage.RETURNING, Sight.ABSENT): MoveStage.ROLLED_BACK,
}
"""The stage of an open move, and what is seen -> its next stage."""


def to_look_at(state: State, broker: int, turn: int) -> list[BrokerReplica]:
    """Return the replicas of a broker that the next look is about.

    These are all that are under way, the first that may start as far as is known, and those that wait from
    place `turn` on: something may have happened to them.
    """
    disks = state.disks
    in_turn = chain.from_iterable(disks.waiting.get(broker, {}).values())
    return list(
        dict.fromkeys(
            chain(
                disks.flying.get(broker, {}),
                islice(_unobstructed(state, broker), LOOKED_AT),
                islice(in_turn, turn, turn + LOOKED_AT),
            )
        )
    )


def _unobstructed(state: State, broker: int) -> Iterator[BrokerReplica]:
    """Yield the waiting moves without a reason, in the order of their start."""
    waiting, jobs = state.disks.waiting.get(broker, {}), state.orders.jobs
    for number in sorted(waiting, key=lambda number: _rank(state, number)):
        if number not in jobs or not jobs[number].paused:
            yield from (replica for replica in waiting[number] if replica not in state.disks.reasons)


def _rank(state: State, number: int) -> tuple[int, int]:
    """Return what sorts jobs by the order in which their moves start."""
    job = state.orders.jobs.get(number)
    return (0 if job is None else -job.priority), number


def disks_seen(d: Decision, event: DisksSeen) -> Iterator[None]:
    """Compare the moves with what their brokers show, and start others. The reply is what to ask for."""
    asks: list[Ask] = []
    for broker, looked in event.looked.items():
        shown = event.shown.get(broker)
        for seen, replica in enumerate(looked, 1):
            move = d.state.disks.open.get(replica)
            if move is not None:
                _follow(d, move, shown, event.silent.get(broker, ""))
            if seen % ROWS_PER_SLICE == 0:
                yield
        if shown is not None:
            _start(d, broker, shown, looked)
            asks += _asks(d, broker, shown)
        yield
    d.answer(event, asks)


def moves_refused(d: Decision, event: MovesRefused) -> None:
    """Try these moves again later. Others of their brokers may start meanwhile.

    If a broker has started one without an answer, the next look shows that.
    """
    for (replica, _), why in event.rows:
        move = d.state.disks.open.get(replica)
        if move is None or not move.stage.is_flying:
            continue
        if move.stage is MoveStage.MOVING:
            d.put(move._replace(stage=MoveStage.WAITING))
        d.state.disks.refuse(replica, why, d.now_ms + RETRY_MS)


def sight_of(move: DiskMove, shown: SeenBroker) -> Sight:
    """Return what the broker shows of the move."""
    key = move.replica.partition_key
    log, future = shown.logs.get(key), shown.futures.get(key)
    if log is None:
        return Sight.ABSENT if future is None or move.stage is not MoveStage.RETURNING else Sight.COPYING
    if log.path == move.target:
        return Sight.ARRIVED
    if log.path != move.source:
        return Sight.ELSEWHERE
    if future is None:
        return Sight.RESTING
    return Sight.COPYING if future.path == move.target else Sight.DIVERTED


def at_once(state: State, job: int) -> int:
    """Return how many replicas may move at once in a broker when one of the job is to start.

    That is the limit of the cluster, else that of the job, else 1. If both are set, the lower one holds.
    """
    known = state.orders.jobs.get(job)
    config = state.settings.config(ResourceType.BROKER, CLUSTER_DEFAULT, DISK_MOVES)
    own = UNLIMITED if known is None else known.limits.per_broker
    if config is None:
        return own if own != UNLIMITED else int(BROKER_KEYS[DISK_MOVES].default)
    return min(int(config), own)


def _follow(d: Decision, move: DiskMove, shown: SeenBroker | None, silence: str) -> None:
    """Bring one move up to date."""
    disks, replica, partition = d.state.disks, move.replica, d.state.cluster.partition(*move.replica[:2])
    if partition is None or move.broker not in partition.replicas:
        _follow_lost(d, move, has_left=partition is not None)
        return
    if shown is None:
        disks.wait(replica, silence)
        return
    sight = sight_of(move, shown)
    following = NEXT[move.stage, sight]
    if not following.is_open:
        if sight is Sight.ARRIVED:
            _note_arrival(d.state, move, shown)
        end_move(d, move, following, _taken(move, shown, sight))
        return
    if following is not move.stage:
        d.put(move._replace(stage=following))
    if following is MoveStage.MOVING:
        disks.try_again(replica)
    if sight is Sight.COPYING and (future := shown.futures.get(replica.partition_key)) is not None:
        disks.note_received(replica, future.size, d.now_ms)
    if replica not in disks.refused:
        disks.wait(replica, _absence(move, shown) if sight is Sight.ABSENT else "")


def _follow_lost(d: Decision, move: DiskMove, *, has_left: bool) -> None:
    """End a move whose replica has left the broker, or whose partition does not exist any more."""
    if has_left:
        end_move(d, move, MoveStage.TAKEN, f"the replica has left broker {move.broker}")
    elif d.state.mode.is_gateway:
        # A broker that lags may not know the partition; `controller.gateway.removed_topics` ends the move.
        d.state.disks.wait(move.replica, "the upstream does not show the partition")
    else:
        end_move(d, move, MoveStage.TOPIC_DELETED)


def _note_arrival(state: State, move: DiskMove, shown: SeenBroker) -> None:
    """Tell proposals where the replica is now, and what is free, before the next measurement."""
    log, known = shown.logs[move.replica.partition_key], state.cluster.disks.get(move.broker, ())
    # In large clusters replicas are not counted: all numbers are 0, and stay so.
    one = int(any(disk.replicas for disk in known))
    disks = [
        disk._replace(
            usable=now.usable if (now := shown.dirs.get(disk.path)) is not None else disk.usable,
            replicas=disk.replicas + one * ((disk.path == move.target) - (disk.path == move.source)),
        )
        for disk in known
    ]
    stored = StoredReplica(move.broker, log.size, log.path)
    state.cluster.measure({}, {move.broker: disks} if disks else {}, {move.replica.partition_key: [stored]})


def _taken(move: DiskMove, shown: SeenBroker, sight: Sight) -> str:
    """Return where others have moved the replica; empty if they have not."""
    key = move.replica.partition_key
    if sight is Sight.ELSEWHERE:
        return f"it was moved to {shown.logs[key].path}"
    return f"another client moves it to {shown.futures[key].path}" if sight is Sight.DIVERTED else ""


def _absence(move: DiskMove, shown: SeenBroker) -> str:
    source = shown.dirs.get(move.source)
    if source is None or source.failed:
        return f"the log directory {move.source} of broker {move.broker} has failed"
    return f"the replica is in no log directory of broker {move.broker}"


def _start(d: Decision, broker: int, shown: SeenBroker, looked: Sequence[BrokerReplica]) -> None:
    """Start the first moves that the limits and the room in the directories allow."""
    state, disks = d.state, d.state.disks
    stopped = d.is_stopped() or state.backlog.usage.held == 0
    arriving = _arriving(disks.flying.get(broker, {}).values(), shown, state)
    for move in _in_order(state, looked):
        job = state.orders.jobs.get(move.job)
        reason = _obstacle(d, move, shown, arriving)
        if reason:
            disks.wait(move.replica, reason)
            continue
        taken = len(disks.flying.get(broker, ()))
        if stopped or (job is not None and job.paused) or taken >= at_once(state, move.job):
            continue
        disks.try_again(move.replica)
        d.put(move._replace(stage=MoveStage.MOVING))
        arriving[move.target] += _size(move, shown)


def _in_order(state: State, looked: Iterable[BrokerReplica]) -> list[DiskMove]:
    """Return the waiting moves among those that were looked at, the first to start first."""
    moves = [state.disks.open[replica] for replica in looked if replica in state.disks.open]
    waiting = [move for move in moves if move.stage is MoveStage.WAITING]
    return sorted(waiting, key=lambda move: _rank(state, move.job))


def _arriving(flying: Iterable[DiskMove], shown: SeenBroker, state: State) -> Counter[str]:
    """Return by directory the bytes that moves under way have still to copy to it."""
    arriving: Counter[str] = Counter()
    for move in flying:
        received = state.disks.received.get(move.replica)
        arriving[move.target] += max(0, _size(move, shown) - (0 if received is None else received.bytes))
    return arriving


def _size(move: DiskMove, shown: SeenBroker) -> int:
    log = shown.logs.get(move.replica.partition_key)
    return move.size if log is None else log.size


def _obstacle(d: Decision, move: DiskMove, shown: SeenBroker, arriving: Counter[str]) -> str:
    """Return why the move cannot start now, apart from limits; empty if it can."""
    disks, replica = d.state.disks, move.replica
    if disks.refused.get(replica, 0) > d.now_ms or replica.partition_key not in shown.logs:
        return disks.reasons.get(replica, "")
    partition = d.state.cluster.partition(*replica.partition_key)
    if partition is not None and move.broker in (*partition.adding, *partition.removing):
        return "the partition is being reassigned"
    target = shown.dirs.get(move.target)
    where = f"the log directory {move.target} of broker {move.broker}"
    if target is None:
        return f"{where} does not exist"
    if target.failed or target.cordoned:
        return f"{where} {'has failed' if target.failed else 'is cordoned'}"
    if target.total <= 0 or target.usable < 0:
        return ""
    size, room = _size(move, shown), target.usable - arriving[move.target]
    room -= d.state.backlog.usage.bytes_to(move.broker)
    return too_full(d.state, move.broker, move.target, (target.total - room + size) / target.total)


def _asks(d: Decision, broker: int, shown: SeenBroker) -> Iterator[Ask]:
    """Yield what the broker is to be asked for: all that is under way and is not as wanted."""
    disks = d.state.disks
    for replica, move in disks.flying.get(broker, {}).items():
        future = shown.futures.get(replica.partition_key)
        if move.stage is MoveStage.MOVING and (future is None or future.path != move.target):
            yield Ask(replica, move.target)
        may_return = disks.refused.get(replica, 0) <= d.now_ms and not _is_being_uncordoned(d, move, shown)
        if move.stage is MoveStage.RETURNING and may_return:
            yield Ask(replica, move.source)


def _is_being_uncordoned(d: Decision, move: DiskMove, shown: SeenBroker) -> bool:
    """Whether the source is cordoned until our lease ends: meanwhile Kafka refuses a return to it."""
    source = shown.dirs.get(move.source)
    lease = d.state.throttle.leases.get((ResourceType.BROKER, str(move.broker), CORDONED_LOG_DIRS))
    return source is not None and source.cordoned and lease is not None and move.source in lease.owned
