"""Orders of moves between log directories, their cancel, and their rollback.

A job of this kind has a record for each replica. A cancel ends what has not started, and takes back what is
under way; what has arrived stays. A rollback cancels what is left, and is a job of the inverse moves.
Directories that are emptied get no new replicas until replicas are to stay in them, or to return to them.
"""

from collections.abc import Generator, Iterable, Iterator

from controller.execution.cordons import allow_dirs_again, exclude_dirs
from controller.messages.disk_events import CancelMoves, MoveDisks, MovesReply, OrderedMove
from controller.messages.event import Requester
from controller.messages.job_events import RollBackJob, RollBackReply
from controller.model.cluster import Job, JobKind
from controller.model.disks import BrokerDir, BrokerReplica, DiskMove, MoveStage
from controller.model.errors import DONE
from controller.reassignment.move_endings import ROWS_PER_SLICE, end_move
from controller.state.state import Decision, State


def move_disks(d: Decision, event: MoveDisks) -> Iterator[None]:
    """Order the moves as one job; if a row cannot be ordered, none is."""
    refused: list[tuple[BrokerReplica, str]] = []
    named: set[BrokerReplica] = set()
    for seen, row in enumerate(event.moves, 1):
        if reason := "it is named twice" if row.replica in named else why_not(d.state, row):
            refused.append((row.replica, reason))
        named.add(row.replica)
        if seen % ROWS_PER_SLICE == 0:
            yield
    if refused or not event.moves:
        d.answer(event, MovesReply(0, refused))
        return
    job = _job(d, event.requester, len(event.moves))._replace(
        priority=event.priority, throttle=event.throttle, limits=event.limits, paused=event.paused
    )
    exclude_dirs(d, event.emptied)
    yield from _open(d, job, event.moves)
    d.answer(event, MovesReply(job.id))


def why_not(state: State, row: OrderedMove) -> str:
    """Return why the move cannot be ordered; empty if it can."""
    partition, topic = state.cluster.partition(row.topic, row.partition), state.cluster.topics.get(row.topic)
    if partition is None or topic is None or topic.deleting:
        return "there is no such partition"
    if row.broker not in partition.replicas:
        return f"broker {row.broker} has no replica of it"
    if row.source == row.target:
        return f"it is to stay in {row.target}"
    if (ongoing := state.disks.open.get(row.replica)) is not None:
        return f"job {ongoing.job} moves it to {ongoing.target}"
    known = [disk.path for disk in state.cluster.disks.get(row.broker, ())]
    if known and row.target not in known:
        return f"broker {row.broker} has no log directory {row.target}: it has {', '.join(known)}"
    return ""


def cancel_moves(d: Decision, event: CancelMoves) -> Iterator[None]:
    """Cancel the open moves of the job, or of all jobs, or those of a topic."""
    count = yield from _cancel_open(d, event.job, event.topic)
    d.cancelled = count
    d.answer(event, count)


def roll_back_moves(d: Decision, event: RollBackJob, job: Job) -> Iterator[None]:
    """Cancel what is left of the job, and order what has arrived back, the last row first."""
    cancelled = yield from _cancel_open(d, job.id)
    rows, skipped = [], []
    filled: set[BrokerDir] = set()
    for row, reason in moves_back(d.state, job.id):
        filled.add(BrokerDir(row.broker, row.target))
        if reason:
            skipped.append((row.replica.partition_key, reason))
        else:
            rows.append(row)
        if (len(rows) + len(skipped)) % ROWS_PER_SLICE == 0:
            yield
    allow_dirs_again(d, filled)
    if not rows:
        d.answer(event, RollBackReply(DONE, 0, skipped, cancelled))
        return
    rollback = _job(d, event.requester, len(rows))._replace(undoes=job.id, throttle=job.throttle)
    yield from _open(d, rollback._replace(limits=job.limits), rows)
    d.answer(event, RollBackReply(DONE, rollback.id, skipped, cancelled))


def moves_back(state: State, job: int) -> Iterator[tuple[OrderedMove, str]]:
    """Yield the moves that take back what has arrived of the job, and why each cannot be ordered, if so."""
    for move in reversed(list(state.disks.moves.get(job, {}).values())):
        if move.stage is MoveStage.DONE:
            row = OrderedMove(*move.replica, move.target, move.source, move.size)
            yield row, move.reason or why_not(state, row)


def _cancel_open(d: Decision, job: int | None, topic: str = "") -> Generator[None, None, int]:
    """Cancel the open moves of the job (None: all) and of the topic (empty: all); return their number."""
    count = 0
    kept: set[BrokerDir] = set()
    for seen, move in enumerate(list(d.state.disks.open.values()), 1):
        chosen = job in (None, move.job) and topic in ("", move.topic)
        if chosen and move.stage is not MoveStage.RETURNING:
            _cancel(d, move)
            kept.add(BrokerDir(move.broker, move.source))
            count += 1
        if seen % ROWS_PER_SLICE == 0:
            yield
    allow_dirs_again(d, kept)
    return count


def _cancel(d: Decision, move: DiskMove) -> None:
    if move.stage is MoveStage.WAITING:
        end_move(d, move, MoveStage.ROLLED_BACK)
    else:
        d.put(move._replace(stage=MoveStage.RETURNING))


def _job(d: Decision, requester: Requester, total: int) -> Job:
    number = d.state.orders.last_job + 1
    return Job(number, JobKind.DISKS, d.now_ms, requester.principal, requester.client_id, total)


def _open(d: Decision, job: Job, rows: Iterable[OrderedMove]) -> Iterator[None]:
    """Record the job and its moves. Each waits until its broker is looked at."""
    d.put(job)
    for written, row in enumerate(rows, 1):
        d.put(DiskMove(job.id, *row))
        if written % ROWS_PER_SLICE == 0:
            yield
