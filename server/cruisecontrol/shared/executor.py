"""What is being executed, as `ExecutorState` of Cruise Control reports it.

Strimzi reads the bytes and the time of the start from it. Bytes are those that were copied; Cruise Control
counts only partitions that have ended.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil
from urllib.parse import parse_qsl, urlsplit

from msgspec import UNSET, Struct, UnsetType

from controller.model.cluster import Job, JobKind, Partition, Reassignment
from controller.model.disks import MoveStage
from controller.model.tasks import UserTask, task_of
from controller.state.state import State
from server.api.shared.job_rows import Job as JobRow
from server.api.shared.job_rows import job_rows, tally
from server.cruisecontrol.shared.answers import date
from server.cruisecontrol.shared.call import CruiseControlCall
from server.cruisecontrol.shared.capacities import MEGABYTE
from server.cruisecontrol.shared.executions import executions
from server.cruisecontrol.shared.leaderships import LeaderMovements
from server.cruisecontrol.shared.results import ExecutionProposal, PartitionName

LOOKED_AT = 1_000
"""Partitions of a job whose orders show its phase. A job can have a million, and clients poll."""
LISTED = 100
"""Partitions that are listed as moving, and as waiting, if the client asks for them."""

IDLE = "NO_TASK_IN_PROGRESS"
STARTING = "STARTING_EXECUTION"
MOVING_REPLICAS = "INTER_BROKER_REPLICA_MOVEMENT_TASK_IN_PROGRESS"
MOVING_BETWEEN_DIRECTORIES = "INTRA_BROKER_REPLICA_MOVEMENT_TASK_IN_PROGRESS"
MOVING_LEADERS = "LEADER_MOVEMENT_TASK_IN_PROGRESS"
STOPPING = "STOPPING_EXECUTION"


class ExecutionTask(Struct, rename="camel"):
    """A partition of an execution."""

    execution_id: int
    state: str
    proposal: ExecutionProposal
    broker_id: int
    """Its leader."""
    type: str = "INTER_BROKER_REPLICA_ACTION"


class ExecutorState(Struct, rename="camel"):
    """What is being executed; only `state` if nothing is."""

    state: str
    triggered_user_task_id: str | UnsetType = UNSET
    triggered_task_reason: str | UnsetType = UNSET
    num_total_partition_movements: int | UnsetType = UNSET
    num_finished_partition_movements: int | UnsetType = UNSET
    num_in_progress_partition_movements: int | UnsetType = UNSET
    num_pending_partition_movements: int | UnsetType = UNSET
    num_total_leadership_movements: int | UnsetType = UNSET
    num_finished_leadership_movements: int | UnsetType = UNSET
    num_pending_leadership_movements: int | UnsetType = UNSET
    num_total_intra_broker_partition_movements: int | UnsetType = UNSET
    num_finished_intra_broker_partition_movements: int | UnsetType = UNSET
    num_in_progress_intra_broker_partition_movements: int | UnsetType = UNSET
    num_pending_intra_broker_partition_movements: int | UnsetType = UNSET
    total_intra_broker_data_to_move: int | UnsetType = UNSET
    finished_intra_broker_data_movement: int | UnsetType = UNSET
    total_data_to_move: int | UnsetType = UNSET
    finished_data_movement: int | UnsetType = UNSET
    in_progress_partition_movement: list[ExecutionTask] | UnsetType = UNSET
    pending_partition_movement: list[ExecutionTask] | UnsetType = UNSET
    recently_removed_brokers: list[int] = []
    """Those that get no new partitions, however long ago they were drained."""
    recently_demoted_brokers: list[int] = []


async def executor_state(call: CruiseControlCall, *, verbose: bool = False) -> ExecutorState:
    """Return what the oldest job of this API does; if `verbose`, with some of its partitions."""
    running = executions(call.state)
    shown = await _of_job(call, running[0], verbose) if running else ExecutorState(IDLE)
    shown.recently_removed_brokers = sorted(call.state.settings.excluded_brokers)
    return shown


async def _of_job(call: CruiseControlCall, job: Job, verbose: bool) -> ExecutorState:
    state = call.state
    [row] = await job_rows(call.call, [job], await tally(call.call))
    if job.kind is JobKind.DISKS:
        return _of_disk_job(state, job, row)
    leaders = await call.context.leaderships.of(state, job)
    left = await call.call.collect(_left(state, job), LOOKED_AT)
    shown = _of_partitions(state, job, row, leaders, left)
    if verbose:
        moving = await call.call.collect(_moving(state, job), LISTED)
        shown.in_progress_partition_movement = [_task(each, "IN_PROGRESS") for each in moving]
        shown.pending_partition_movement = [_task(each, "PENDING") for each in _waiting(state, left)]
    return shown


_Row = tuple[Partition, Reassignment]


def _moving(state: State, job: Job) -> Iterator[_Row | None]:
    """Yield the partitions of the job that have a step in flight; None for those of others."""
    for key in list(state.in_flight):
        partition, order = state.cluster.partition(*key), state.orders.reassignments.get(key)
        if partition is None or order is None or order.job != job.id:
            yield None
        else:
            yield partition, order


def _waiting(state: State, left: Sequence[Reassignment]) -> list[_Row]:
    """Return the first partitions of those that a job has left that have none."""
    orders = [order for order in left if order.key not in state.in_flight]
    rows = [(state.cluster.partition(*order.key), order) for order in orders[:LISTED]]
    return [(partition, order) for partition, order in rows if partition is not None]


def _left(state: State, job: Job) -> Iterator[Reassignment | None]:
    """Yield the orders that the job has left; None for those of others, of which there may be many more."""
    for order in list(state.orders.reassignments.values()):
        yield order if order.job == job.id else None


def _task(row: _Row, state: str) -> ExecutionTask:
    partition, order = row
    name = PartitionName(partition.topic, partition.partition)
    proposal = ExecutionProposal(name, partition.leader, order.original, order.target)
    return ExecutionTask(order.job, state, proposal, partition.leader)


def _of_disk_job(state: State, job: Job, row: JobRow) -> ExecutorState:
    """Return what a job of moves between log directories does; Strimzi reads `total_data_to_move` of all."""
    to_copy, copied = _megabytes(row)
    total, finished, moving, pending = _movements(row)
    stages = state.disks.stages.get(job.id, Counter())
    shown = ExecutorState(MOVING_BETWEEN_DIRECTORIES if row.moving or row.done else STARTING)
    if MoveStage.RETURNING in stages and not {MoveStage.MOVING, MoveStage.WAITING} & stages.keys():
        shown.state = STOPPING
    shown.triggered_user_task_id, shown.triggered_task_reason = _trigger(state, job)
    shown.num_total_intra_broker_partition_movements = total
    shown.num_finished_intra_broker_partition_movements = finished
    shown.num_in_progress_intra_broker_partition_movements = moving
    shown.num_pending_intra_broker_partition_movements = pending
    shown.total_data_to_move = shown.total_intra_broker_data_to_move = to_copy
    shown.finished_data_movement = shown.finished_intra_broker_data_movement = copied
    return shown


def _movements(row: JobRow) -> tuple[int, int, int, int]:
    """Return how many movements a job has: all, finished, in progress, and pending."""
    pending = row.waiting + row.queued
    return row.total, row.total - row.moving - pending, row.moving, pending


def _megabytes(row: JobRow) -> tuple[int, int]:
    """Return what a job has to copy, and what it has copied."""
    copied = row.copied
    total = ceil(copied.total / MEGABYTE) if copied is not None and copied.total else 0
    finished = min(total, int(copied.bytes // MEGABYTE)) if copied is not None and copied.bytes else 0
    return total, finished


def _trigger(state: State, job: Job) -> tuple[str, str]:
    """Return the task that has started the job, and its reason."""
    task = task_of(job.client_id)
    record = state.tasks.results.get(task)
    client = job.principal if record is None else record.client
    return task, f"{_reason(state, record)} (Client: {client}, Date: {date(job.created_ms)})"


def _of_partitions(
    state: State, job: Job, row: JobRow, leaders: LeaderMovements, left: Sequence[Reassignment]
) -> ExecutorState:
    total, finished = _megabytes(row)
    return ExecutorState(
        _phase(row, left),
        *_trigger(state, job),
        *_movements(row),
        leaders.total,
        leaders.finished,
        leaders.total - leaders.finished,
        total_data_to_move=total,
        finished_data_movement=finished,
    )


def _reason(state: State, record: UserTask | None) -> str:
    """Return what the client has given as its reason, of an approved request when it was held."""
    asked = _asked("" if record is None else urlsplit(record.url).query)
    number = asked.get("review_id", "")
    held = state.held.by_id.get(int(number)) if number.isdecimal() else None
    given = _asked(held.query) if held is not None else asked
    return given.get("reason") or "No reason provided"


def _asked(query: str) -> dict[str, str]:
    return {name.lower(): value for name, value in parse_qsl(query)}


def _phase(row: JobRow, left: Sequence[Reassignment]) -> str:
    """Return the phase: everything that is left returns, waits for its first step, moves, or elects."""
    if left and all(each.rolling_back for each in left):
        return STOPPING
    if left and not any(set(each.original) != set(each.target) for each in left):
        return MOVING_LEADERS
    return MOVING_REPLICAS if row.moving or row.done else STARTING
