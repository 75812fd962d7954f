"""What is being executed, as `ExecutorState` of Cruise Control tells it.

Strimzi reads the bytes and the time of the start from it. Bytes are those that were copied; Cruise Control
counts only partitions that have ended.
"""

from collections import Counter
from collections.abc import Sequence
from math import ceil
from urllib.parse import parse_qsl, urlsplit

from msgspec import UNSET, Struct, UnsetType

from common.tasks import in_slices
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
"""Partitions of a job whose orders tell its phase. A job can have a million, and clients poll."""
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
    removed = sorted(call.state.settings.excluded_brokers)
    if not running:
        return ExecutorState(IDLE, recently_removed_brokers=removed)
    [row] = await job_rows(call.call, running[:1], await tally(call.call))
    if running[0].kind is JobKind.DISKS:
        shown = _of_disk_job(call.state, running[0], row)
        shown.recently_removed_brokers = removed
        return shown
    leaders = await call.room.leaderships.of(call.state, running[0])
    left = await _left(call.state, running[0])
    shown = _of_job(call.state, running[0], row, leaders, left)
    shown.recently_removed_brokers = removed
    if verbose:
        moving, waiting = await _moving(call.state, running[0]), _waiting(call.state, left)
        shown.in_progress_partition_movement = [_task(each, "IN_PROGRESS") for each in moving]
        shown.pending_partition_movement = [_task(each, "PENDING") for each in waiting]
    return shown


_Row = tuple[Partition, Reassignment]


async def _moving(state: State, job: Job) -> list[_Row]:
    """Return the first partitions of the job that have a step in flight."""
    found: list[_Row] = []
    async for key in in_slices(list(state.in_flight)):
        partition, order = state.cluster.partition(*key), state.orders.reassignments.get(key)
        if partition is not None and order is not None and order.job == job.id:
            found.append((partition, order))
            if len(found) == LISTED:
                break
    return found


def _waiting(state: State, left: Sequence[Reassignment]) -> list[_Row]:
    """Return the first partitions of those that a job has left that have none."""
    orders = [order for order in left if order.key not in state.in_flight]
    rows = [(state.cluster.partition(*order.key), order) for order in orders[:LISTED]]
    return [(partition, order) for partition, order in rows if partition is not None]


async def _left(state: State, job: Job) -> list[Reassignment]:
    """Return the first orders that the job has left. Other jobs may have many more."""
    found: list[Reassignment] = []
    async for order in in_slices(list(state.orders.reassignments.values())):
        if order.job == job.id:
            found.append(order)
            if len(found) == LOOKED_AT:
                break
    return found


def _task(row: _Row, state: str) -> ExecutionTask:
    partition, order = row
    name = PartitionName(partition.topic, partition.partition)
    proposal = ExecutionProposal(name, partition.leader, order.original, order.target)
    return ExecutionTask(order.job, state, proposal, partition.leader)


def _of_disk_job(state: State, job: Job, row: JobRow) -> ExecutorState:
    """Return what a job of moves between log directories does; Strimzi reads `total_data_to_move` of all."""
    total, finished = _megabytes(row)
    ended = row.total - row.moving - row.waiting - row.queued
    stages = state.disks.stages.get(job.id, Counter())
    shown = ExecutorState(MOVING_BETWEEN_DIRECTORIES if row.moving or row.done else STARTING)
    if MoveStage.RETURNING in stages and not {MoveStage.MOVING, MoveStage.WAITING} & stages.keys():
        shown.state = STOPPING
    shown.triggered_user_task_id, shown.triggered_task_reason = _trigger(state, job)
    shown.num_total_intra_broker_partition_movements = row.total
    shown.num_finished_intra_broker_partition_movements = ended
    shown.num_in_progress_intra_broker_partition_movements = row.moving
    shown.num_pending_intra_broker_partition_movements = row.waiting + row.queued
    shown.total_data_to_move = shown.total_intra_broker_data_to_move = total
    shown.finished_data_movement = shown.finished_intra_broker_data_movement = finished
    return shown


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


def _of_job(
    state: State, job: Job, row: JobRow, leaders: LeaderMovements, left: Sequence[Reassignment]
) -> ExecutorState:
    total, finished = _megabytes(row)
    return ExecutorState(
        _phase(row, left),
        *_trigger(state, job),
        row.total,
        row.total - row.moving - row.waiting - row.queued,
        row.moving,
        row.waiting + row.queued,
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
