"""The steps of a gateway: each is one row of AlterPartitionReassignments for the upstream (KIP-455).

The `Partition` record shows the step as soon as it is decided. The `UpstreamStep` record holds how far the
step is; it is durable before the request is sent. The result comes from polls only
(`controller.gateway.polled`). A step that a new order changes is undone first, and the next step is planned
from the result.

Rows of an earlier active instance may arrive late. Kafka does not know which instance has sent a row. An
instance checks its lease right before it writes a row to the socket. Yet a row can wait in a socket or in a
broker while the next instance takes over. So the partitions whose rows were not answered are *suspects* of
the new term. Such a row need not be the newest: a cancel can wait behind the row that it cancels.

* For HELD_MS no other row of the partition is sent than the newest late one. Afterwards the broker has
  executed or dropped it, unless it was suspended.
* Later, a move to the target of the late row is taken as its effect, not as that of another client: the own
  row is sent again, MOST_REPEATS times. Without an own row the move is cancelled, within LATEST_MS.
"""

from collections.abc import Iterable
from itertools import islice

from controller.cluster.cluster_values import too_full
from controller.gateway.table import COMMANDS, Command
from controller.messages.effects import Elect, Submit
from controller.model.cluster import Partition, Replicas, TopicPartition, UpstreamStep
from controller.model.replicas import NO_LEADER, never_ends
from controller.model.thresholds import Discrepancy
from controller.model.upstream_step import Stage
from controller.reassignment.planning import counted_size
from controller.scheduling.steps import step_lists
from controller.state.gateway import Suspect
from controller.state.state import Decision, State

ELECTS = False


def begin(
    d: Decision, partition: Partition, following: Replicas, _: Replicas, preferred: int = NO_LEADER
) -> bool:
    """Request the step, or undo the one in flight; True when there is nothing to do.

    A step that only elects is requested with the present list. Kafka accepts that without a move, so the next
    poll shows its end, where the leader is elected.

    A step in flight that adds or removes replicas is never replaced by another row. Kafka 4.3 waits for each
    replica that the earlier row adds, also when the new row removes it (KAFKA-19975): such a move does not
    end. A row that adds other replicas would leak some: Kafka's cancel drops only what the last such row
    added.
    """
    if partition.key in d.state.in_flight:
        known = d.state.gateway.steps.get(partition.key)
        if known is not None and known.stage is Stage.ENDED:
            _take_over(d, partition, known)
            return True
        _turn(d, partition, following)
        return False
    if following == partition.replicas and not _can_elect(d.state, partition, preferred):
        return True
    _request(d, partition, partition.replicas, following)
    return False


def complete(
    d: Decision,
    partition: Partition,
    target: Replicas,  # noqa: ARG001
    preferred: int = NO_LEADER,
) -> bool:
    """Take over the result of a step that has ended; True if so."""
    key = partition.key
    step = d.state.gateway.steps.get(key)
    if step is None or step.stage is not Stage.ENDED or d.state.gateway.moved_by_others(key):
        return False
    final = partition._replace(replicas=step.following, adding=(), removing=())
    if _awaits_leader(d, final, preferred):
        return False
    _take_over(d, partition, step)
    return True


def can_turn(state: State, partition: Partition, kept: Replicas) -> bool:
    """Whether Kafka can end the step in flight at `kept`.

    It can only end where a cancel leads: at the list before the step.
    """
    known = state.gateway.steps.get(partition.key)
    requested = known is not None and known.stage in {Stage.SUBMITTING, Stage.ACTIVE}
    return requested and set(kept) == set(partition.current)


def obstacle(state: State, partition: Partition, following: Replicas) -> str:
    """Return why the step cannot start: unexpected replicas, or too little disk space. Empty when it can."""
    expected = expected_replicas(state, partition.key)
    if partition.replicas != expected:
        return f"its replicas are {list(partition.replicas)}, where {list(expected)} were left"
    size = state.cluster.copied_size(partition.key) or 0
    added = (r for r in following if r not in partition.replicas)
    return next(filter(None, (_lack_of_space(state, broker, size) for broker in added)), "")


def expected_replicas(state: State, key: TopicPartition) -> Replicas:
    """Return the replicas that a partition between two steps has, if no other client has changed them."""
    step = state.gateway.steps.get(key)
    return state.orders.reassignments[key].original if step is None else step.following


def ended(d: Decision, key: TopicPartition) -> None:
    """Delete the step record after the reassignment. A step in flight is followed to its end first."""
    step = d.state.gateway.steps.get(key)
    if step is None:
        d.state.gateway.forget_sighting(key)
    elif not step.in_flight:
        d.delete(UpstreamStep, key)


def place(d: Decision, now: Partition) -> None:
    """Store the partition, and remember the lists that it leaves while lagging brokers may show them."""
    before = d.state.cluster.partition(*now.key)
    if before is not None and (before.replicas != now.replicas or before.moving):
        leave(d, before)
    d.put(now)


def leave(d: Decision, before: Partition, *, moving: bool = False) -> None:
    """Remember the list of the partition, or the middle of its move."""
    middle = frozenset(before.replicas)
    if not before.moving:
        d.state.gateway.past.leave(before.key, d.now_ms, [before.replicas], moving=moving)
    else:
        middles = [] if middle == set(before.next) else [middle]
        d.state.gateway.past.leave(before.key, d.now_ms, (), middles, moving=moving)


def leave_step(d: Decision, step: UpstreamStep, *more: Replicas, moving: bool = False) -> None:
    """Remember the lists from which the step starts, and its middle.

    The upstream may have carried it out now.
    """
    d.state.gateway.past.leave(step.key, d.now_ms, [*step.lists_before, *more], step.middles, moving=moving)


def restore(d: Decision, partition: Partition, cancelled: UpstreamStep) -> None:
    """Request the list from before a step that the upstream has cancelled."""
    base = cancelled.base
    isr = tuple(r for r in partition.isr if r in base)
    place(d, partition._replace(replicas=base, isr=isr, adding=(), removing=()))
    d.put(cancelled._replace(following=base, stage=Stage.SUBMITTING, replaced=cancelled.following))
    d.state.gateway.forget_sighting(partition.key)
    send(d, partition.key, base)


def send(d: Decision, key: TopicPartition, replicas: Replicas | None) -> None:
    """Send the row. Until it is answered, polls of the partition are inconclusive.

    A row that is held is not sent. The records show it as requested, so it is sent after a later poll.
    """
    if is_held(d.state, key, replicas, d.now_ms):
        return
    d.state.gateway.request_sent(key)
    d.effects.append(Submit(*key, replicas))


def undo(d: Decision, partition: Partition) -> None:
    """Cancel the step in flight, ours or another client's."""
    known = d.state.gateway.steps.get(partition.key)
    if known is None or not known.in_flight:
        known = UpstreamStep(*partition.key, partition.current, partition.next, Stage.SETTLED)
    elif known.is_cancelled:
        return
    stage = COMMANDS[known.stage, Command.UNDO]
    d.put(known._replace(stage=stage, epoch=max(known.epoch, partition.leader_epoch)))
    d.state.gateway.forget_sighting(partition.key)
    send(d, partition.key, None)


def _turn(d: Decision, partition: Partition, following: Replicas) -> None:
    """Let the step in flight go on if it leads to `following`.

    Else undo it, or change the order that it gives.
    """
    known = d.state.gateway.steps.get(partition.key)
    if known is None or not known.in_flight:
        if following == partition.next and not never_ends(partition.adding, partition.removing):
            # Another client already moves it there. Kafka accepts the same row again, and nothing changes.
            _request(d, partition, partition.current, following)
        else:
            undo(d, partition)
    elif known.is_cancelled or not (known.moves_nothing or following == known.following):
        undo(d, partition)
    elif following != known.following:
        leave_step(d, known, known.following)
        _request(d, partition, known.base, following)


def _take_over(d: Decision, partition: Partition, step: UpstreamStep) -> None:
    """Give the partition the replicas at which the step ended."""
    d.state.gateway.forget_sighting(partition.key)
    replicas = step.following
    isr = tuple(r for r in partition.isr if r in replicas)
    place(d, partition._replace(replicas=replicas, isr=isr, adding=(), removing=()))
    d.put(step._replace(stage=COMMANDS[step.stage, Command.TAKE_OVER]))


def _awaits_leader(d: Decision, partition: Partition, preferred: int) -> bool:
    """Whether to wait for the preferred leader. Requests its election at polls 1, 2, 4, 8 and so on."""
    state, key = d.state, partition.key
    if not _can_elect(state, partition, preferred):
        return False
    sighting = state.gateway.sighted(key, Discrepancy.NOT_LEADING, d.now_ms)
    if sighting.polls.bit_count() == 1:
        d.effects.append(Elect(*key))
    return not sighting.is_confirmed


def _can_elect(state: State, partition: Partition, preferred: int) -> bool:
    """Whether Kafka's election would make the preferred leader lead, which does not lead yet."""
    can_lead = preferred in partition.isr and preferred in state.cluster.live
    return can_lead and preferred == partition.replicas[0] != partition.leader


MOST_LOOKED_AT = 1_000
"""Steps in flight of which the directories are looked up for one that is to start."""


def _lack_of_space(state: State, broker: int, size: int) -> str:
    """Return why the log directory that the broker would choose is too full; empty if it is not."""
    disks = [disk for disk in state.cluster.disks.get(broker, ()) if disk.total > 0 and not disk.cordoned]
    if not disks or not size:
        return ""
    disk = min(disks, key=lambda disk: (disk.replicas, disk.usable))
    used = (disk.total - disk.usable + size + state.backlog.usage.bytes_to(broker)) / disk.total
    if not too_full(state, broker, disk.path, used):
        return ""
    elsewhere = _to_other_directories(state, broker, disk.path) / disk.total
    return too_full(state, broker, disk.path, used - elsewhere)


def _to_other_directories(state: State, broker: int, path: str) -> int:
    """Return the bytes of steps in flight to the broker whose replicas are known to be in other directories.

    Up to MOST_LOOKED_AT steps are looked at. All bytes of the others count for the directory.
    """
    arriving = state.in_flight.arriving
    if arriving is None:
        # Once for all partitions that wait for room: there may be thousands.
        arriving = _add_up(state)
        state.in_flight.keep_arriving(arriving)
    return sum(size for log_dir, size in arriving.get(broker, {}).items() if log_dir != path)


def _add_up(state: State) -> dict[int, dict[str, int]]:
    """Return `StepsInFlight.arriving`."""
    arriving: dict[int, dict[str, int]] = {}
    for key in islice(state.in_flight, MOST_LOOKED_AT):
        partition, stored = state.cluster.partition(*key), state.cluster.stored.get(key)
        if partition is None or stored is None:
            continue
        for replica in filter(None, map(stored.on, partition.adding)):
            by_dir = arriving.setdefault(replica.broker, {})
            by_dir[replica.log_dir] = by_dir.get(replica.log_dir, 0) + counted_size(state, key)
    return arriving


def _request(d: Decision, partition: Partition, base: Replicas, following: Replicas) -> None:
    replicas, adding, removing = step_lists(base, following)
    # A change of order alone is a step, too, though it adds and removes nothing. It ends when a poll shows
    # it.
    place(d, partition._replace(replicas=replicas, adding=adding, removing=removing))
    known = d.state.gateway.steps.get(partition.key)
    stage = COMMANDS[Stage.SETTLED if known is None else known.stage, Command.REQUEST]
    step = UpstreamStep(*partition.key, base, following, stage, epoch=partition.leader_epoch)
    leave_step(d, step)
    d.put(step)
    d.state.gateway.forget_sighting(partition.key)
    send(d, partition.key, following)


HELD_MS = 30_000
"""Longer than the timeout of the request (`backends.upstream.submitter`)."""

LATEST_MS = 600_000
"""After this time a move without a step of ours is another client's."""

MOST_REPEATS = 3

_UNANSWERED = {Stage.SUBMITTING, Stage.UNDOING}


def name_suspects(state: State, claimed_ms: int) -> None:
    """Take the steps without an answer as suspects.

    Called once, with the state that a new term has loaded.
    """
    for key, step in state.gateway.steps.items():
        if step.stage in _UNANSWERED:
            state.gateway.suspect(key, Suspect(_rows_of(step), claimed_ms))


def row_of(step: UpstreamStep) -> Replicas | None:
    """Return the row that requests the step, or its cancel."""
    return None if step.stage is Stage.UNDOING else step.following


def _rows_of(step: UpstreamStep) -> tuple[Replicas | None, ...]:
    """Return the rows that may be on their way: rows follow each other before the first is answered."""
    earlier = (step.following,) if step.stage is Stage.UNDOING else ()
    return (row_of(step), *earlier, *([step.replaced] if step.replaced else []))


def is_held(state: State, key: TopicPartition, row: Replicas | None, now_ms: int) -> bool:
    """Whether the row must not be sent yet: the upstream is out of reach, or a late row may arrive."""
    if state.gateway.unreachable and row is not None:
        return True
    suspect = state.gateway.suspects.get(key)
    return suspect is not None and suspect.rows[0] != row and now_ms < suspect.claimed_ms + HELD_MS


def repeats_own_row(state: State, step: UpstreamStep, target: Replicas | None, replicas: Replicas) -> bool:
    """Whether what the upstream shows is the effect of a late row; if so, count it.

    `target` is that of the move in the upstream, None without one; `replicas` are what Metadata shows then.
    """
    suspect = state.gateway.suspects.get(step.key)
    if suspect is None or suspect.repeats >= MOST_REPEATS:
        return False
    late = [row for row in suspect.rows if row != row_of(step)]
    if target is None:
        # A late cancel, or a late row to the replicas that the partition had, which ends a move at once.
        return any(set(replicas) == set(step.base if row is None else row) for row in late)
    return _leads_to(target, late)


def cancels_move(state: State, key: TopicPartition, target: Replicas, now_ms: int) -> bool:
    """Whether a move of a partition without a step in flight is the effect of a late row."""
    suspect = state.gateway.suspects.get(key)
    if suspect is None or suspect.repeats >= MOST_REPEATS:
        return False
    return _leads_to(target, suspect.rows) and now_ms < suspect.claimed_ms + LATEST_MS


def _leads_to(target: Replicas, rows: Iterable[Replicas | None]) -> bool:
    return any(row is not None and sorted(target) == sorted(row) for row in rows)
