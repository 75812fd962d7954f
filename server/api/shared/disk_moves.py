"""Moves between log directories: their order, how a job of them is shown, and what a rollback would do."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from msgspec import UNSET, Meta, Struct

from common.clock import wall_clock
from common.tasks import side_by_side
from common.wording import some
from controller.disks.orders import moves_back
from controller.messages.disk_events import MoveDisks, OrderedMove
from controller.model.disks import BrokerReplica, DiskMove, MoveStage
from controller.model.limits import PlanLimits
from controller.model.plan import ANY, PlanRow
from controller.model.replicas import TopicPartition
from controller.state.state import State
from controller.views import disk_moves as views
from controller.views.jobs import PartState
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from server.api.shared.call import Call
from server.api.shared.cordons import can_exclude_dirs, follow_dirs
from server.api.shared.directories import Place, read_directories, requests_about
from server.api.shared.errors import HttpError
from server.api.shared.job_parts import DirectoryMove, Part, PartSort, PartsPage, is_in_progress_order

NAMED = 5
"""Replicas that a refusal names."""
ONLY_B = "limits: of moves between log directories there is only B"


class WantedMove(Struct, forbid_unknown_fields=True):
    """A replica that is to change its log directory."""

    topic: str
    partition: Annotated[int, Meta(ge=0, le=2**31 - 1)]
    broker: Annotated[int, Meta(ge=0, le=2**31 - 1)]
    target: Annotated[str, Meta(description="Path of the directory.", min_length=1)]
    source: Annotated[
        str, Meta(description="The directory that it must be in now. Empty: wherever it is.")
    ] = ""
    bytes: Annotated[int, Meta(ge=0, description="Its size, as a proposal names it. No effect.")] = 0

    @property
    def replica(self) -> BrokerReplica:
        """The replica."""
        return BrokerReplica(self.topic, self.partition, self.broker)


_Places = dict[BrokerReplica, Place]


class OrderedJob(NamedTuple):
    """The job of moves, and a line for each broker whose emptied directories can get new replicas."""

    job: int
    notes: Sequence[str]


async def order_moves(call: Call, moves: Sequence[WantedMove], event: MoveDisks) -> OrderedJob:
    """Order the moves, as the fields of the event say, and wait until what is emptied is cordoned.

    Each replica must be in its source now. Raises HttpError that names what is wrong.
    """
    order = replace(event, moves=await located(call, moves))
    if not can_exclude_dirs(call):
        order = replace(order, emptied=())
    reply = await call.submit(order)
    if reply.refused:
        raise HttpError(422, some([f"{replica}: {why}" for replica, why in reply.refused], NAMED, "; "))
    return OrderedJob(reply.job, await follow_dirs(call, event.emptied))


async def located(call: Call, moves: Sequence[WantedMove]) -> list[OrderedMove]:
    """Return the moves with the present directories and sizes of the replicas.

    Raises HttpError for those that are not in their source.
    """
    requests = await call.compute(len(moves), _requests, moves)
    answers = await side_by_side(_ask(call, broker, request) for broker, request in requests.items())
    return await call.compute(len(moves), _ordered, moves, answers)


def _requests(moves: Sequence[WantedMove]) -> dict[int, DescribeLogDirsRequest]:
    return requests_about(each.replica for each in moves)


def _ordered(moves: Sequence[WantedMove], answers: Iterable[_Places]) -> list[OrderedMove]:
    """Return the moves with what brokers have answered. Raises HttpError."""
    found = {replica: place for answer in answers for replica, place in answer.items()}
    absent = [str(each.replica) for each in moves if each.replica not in found]
    if absent:
        raise HttpError(422, f"not in any log directory: {some(absent, NAMED)}")
    elsewhere = [
        f"{each.replica} is in {found[each.replica].path}, not in {each.source}"
        for each in moves
        if each.source and each.source != found[each.replica].path
    ]
    if elsewhere:
        raise HttpError(409, f"{some(elsewhere, NAMED)}; propose again")
    return [
        OrderedMove(*each.replica, found[each.replica].path, each.target, found[each.replica].size)
        for each in moves
    ]


async def _ask(call: Call, broker: int, request: DescribeLogDirsRequest) -> _Places:
    """Return the directories and the sizes of the replicas that the broker has. Raises HttpError."""
    if broker not in call.state.cluster.brokers:
        raise HttpError(422, f"broker {broker} is not in the cluster")
    known = read_directories(await call.services.sizes.describe(broker, request))
    if known is None:
        raise HttpError(503, f"broker {broker} does not report its log directories")
    return {BrokerReplica(*key, broker): place for key, place in known.places.items()}


def disk_limits(limits: PlanLimits) -> PlanLimits:
    """Return the limits if they have only B. Raises HttpError."""
    if limits != PlanLimits(per_broker=limits.per_broker):
        raise HttpError(400, ONLY_B)
    return limits


# ---- how a job is shown -----------------------------------------------------------------------------------


async def move_rows(call: Call, job: int) -> Iterator[Part]:
    """Return the moves of the job as the API shows partitions."""
    found = await call.collect(views.moves_in_order(call.state, job))
    return (_row(call, move) for move, _ in found)


def _row(call: Call, move: DiskMove) -> Part:
    part = views.move_part(call.state, move, wall_clock())
    partition = call.state.cluster.partition(move.topic, move.partition)
    replicas = () if partition is None else partition.replicas
    return Part(
        move.topic,
        move.partition,
        part.state,
        replicas,
        replicas,
        replicas,
        None,
        None if partition is None or partition.leader < 0 else partition.leader,
        move.size,
        part.copied,
        part.reason,
        DirectoryMove(move.broker, move.source, move.target),
    )


async def move_page(call: Call, job: int, page: PartsPage) -> tuple[list[Part], int]:
    """Return a page of the job's moves, and how many the filters select."""
    matching = len(call.state.disks.moves.get(job, ()))
    if is_in_progress_order(page):
        end = page.offset + page.limit
        shown = (await call.collect(views.moves_in_order(call.state, job), end))[page.offset :]
    else:
        found = await call.compute(matching, _selected, call.state, job, page)
        shown, matching = found[page.offset : page.offset + page.limit], len(found)
    return [_row(call, move) for move, _ in shown], matching


_Found = tuple[DiskMove, PartState]

_STATES = {state: place for place, state in enumerate(PartState)}
_KEYS: dict[PartSort, Callable[[_Found], Any]] = {
    PartSort.PARTITION: lambda found: found[0].replica,
    PartSort.STATE: lambda found: (_STATES[found[1]], found[0].replica),
    PartSort.BYTES: lambda found: (found[0].size, found[0].replica),
}


def _selected(state: State, job: int, page: PartsPage) -> list[_Found]:
    found = [each for each in views.moves_in_order(state, job) if _matches(each, page)]
    if page.sort in _KEYS:
        found.sort(key=_KEYS[page.sort])
    return found[::-1] if page.descending else found


def _matches(found: _Found, page: PartsPage) -> bool:
    move, shown = found
    return (
        (page.state is UNSET or shown is page.state)
        and (page.topic is UNSET or page.topic in move.topic)
        and (page.broker is UNSET or move.broker == page.broker)
    )


# ---- rollback ---------------------------------------------------------------------------------------------


def rows_back(state: State, job: int) -> Iterator[PlanRow | None]:
    """Yield the rows of a plan for Kafka's tool that moves the replicas of the job back; None in between.

    It names the first directory of each replica that the job moves, and any for the others.
    """
    sources: dict[TopicPartition, dict[int, str]] = {}
    for move in list(state.disks.moves.get(job, {}).values()):
        if move.stage not in {MoveStage.TAKEN, MoveStage.TOPIC_DELETED}:
            sources.setdefault(move.replica.partition_key, {})[move.broker] = move.source
        yield None
    for key, paths in sources.items():
        partition = state.cluster.partition(*key)
        if partition is None or not paths.keys() <= {*partition.replicas}:
            yield None
        else:
            dirs = [paths.get(broker, ANY) for broker in partition.replicas]
            yield PlanRow(*key, partition.replicas, dirs)


class MovesBack(NamedTuple):
    """What a rollback would do with the moves of a job."""

    partitions: int
    """Replicas that move back, or whose move is cancelled."""
    bytes: int
    unmoved: int
    """Moves that have not started, and are taken out of the job."""
    skipped: Sequence[tuple[TopicPartition, str]]


async def preview_of_moves(call: Call, job: int) -> MovesBack:
    """Return what a rollback of the job would do now."""
    stages = call.state.disks.stages.get(job, Counter())
    rows = await call.collect(moves_back(call.state, job))
    skipped = [(row.replica.partition_key, reason) for row, reason in rows if reason]
    back = [row for row, reason in rows if not reason]
    flying = sum(count for stage, count in stages.items() if stage.is_flying)
    waiting = stages.get(MoveStage.WAITING, 0)
    return MovesBack(len(back) + flying, sum(row.size for row in back), waiting, skipped)
