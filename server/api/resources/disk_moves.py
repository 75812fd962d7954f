"""`/v1/disk-moves`: move replicas between the log directories of their brokers, as a job."""

from collections.abc import Iterable, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from common.json.models import convert_model
from controller.messages.disk_events import MoveDisks
from server.api.resources.jobs import JobOptions, limits_of_options
from server.api.shared.call import Call, Endpoint
from server.api.shared.disk_moves import WantedMove, disk_limits, order_moves
from server.api.shared.errors import HttpError
from server.api.shared.proposals import NamedDir, dirs_of


class WantedMoves(Struct, forbid_unknown_fields=True):
    """Moves between log directories, such as those of a proposal."""

    moves: list[WantedMove]
    emptied: Annotated[
        list[NamedDir],
        Meta(
            description="Directories that get no new replicas, until replicas return to them or "
            "`/v1/placement` allows them again."
        ),
    ] = []


class OrderedMoves(Struct):
    """A job of moves between log directories."""

    job: int
    accepted: Annotated[int, Meta(description="Replicas in the job.")]
    notes: Annotated[
        Sequence[str], Meta(description="Emptied directories that Kafka does not cordon (KIP-1066).")
    ] = ()


async def submit(call: Call, options: JobOptions) -> OrderedMoves:
    """Order the moves. If one cannot be ordered, none is."""
    body = await call.read_body(_read)
    if not body.moves:
        raise HttpError(400, "moves: expected at least one")
    ordered = await order_moves(call, body.moves, order_of(call, options, body.emptied))
    return OrderedMoves(ordered.job, len(body.moves), ordered.notes)


def order_of(call: Call, options: JobOptions, emptied: Iterable[NamedDir]) -> MoveDisks:
    """Return the order without its moves. Raises HttpError for options that it cannot have."""
    if options.queue or options.append or options.elect or options.until_ms:
        raise HttpError(400, "Moves between log directories have no queue, append, elect and until_ms.")
    return MoveDisks(
        (),
        call.requester,
        options.priority or 0,
        options.throttle or 0,
        disk_limits(limits_of_options(options)),
        options.paused,
        dirs_of(emptied),
    )


def _read(value: object) -> WantedMoves:
    return convert_model(value, WantedMoves)


ENDPOINTS = (
    Endpoint(
        "POST",
        "/v1/disk-moves",
        "Move replicas between the log directories of their brokers.",
        submit,
        OrderedMoves,
        WantedMoves,
        JobOptions,
        202,
    ),
)
