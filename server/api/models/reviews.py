"""The models of `/v1/plans/review`."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from server.api.models.proposals import ProposedLoad
from server.api.models.shared import Obstacles, RateOrigin, ThrottledBrokers, WaitingPartition


class ReviewOptions(Struct, forbid_unknown_fields=True):
    """Query parameters of a review."""

    throttle: (
        Annotated[int, Meta(ge=1, le=2**63 - 1, description="Bytes per second to and from each broker.")]
        | UnsetType
    ) = UNSET


class ReviewedBroker(Struct):
    """A broker before and after the plan."""

    broker: int
    rack: str | None
    live: bool
    before: ProposedLoad
    after: ProposedLoad
    gains: Annotated[int, Meta(description="Replicas that are copied to it.")]
    losses: Annotated[int, Meta(description="Replicas that it drops.")]
    bytes_in: int
    bytes_out: int
    seconds: Annotated[float, Meta(description="Time that its traffic takes at the bandwidth.")]


class Review(Struct):
    """What a plan would do under the limits in force. Nothing moves."""

    partitions: Annotated[int, Meta(description="Entries of the plan.")]
    unchanged: Annotated[int, Meta(description="Partitions that have the target replicas.")]
    under_way: Annotated[
        int,
        Meta(description="Partitions that are being reassigned or queued; the plan changes their target."),
    ]
    steps: int
    waves: int
    replica_movements: int
    leader_movements: int
    bytes: Annotated[int, Meta(description="Bytes to copy.")]
    bandwidth: Annotated[int, Meta(description="Bytes per second into, and out of, each broker.")]
    rate_origin: RateOrigin
    set_by_others: Annotated[
        list[ThrottledBrokers],
        Meta(description="Rates that others have set at brokers, and that the forecast uses there."),
    ]
    obstacles: Obstacles
    seconds: Annotated[float, Meta(description="Time that the waves take, one after the other.")]
    scheduled_seconds: Annotated[
        float | None,
        Meta(
            description="Time from now on, if the waves run in the periods of the schedule, with their throttles;"
            " `seconds` without a schedule, null for more than 90 days."
        ),
    ]
    least_seconds: Annotated[float, Meta(description="Time that the busiest broker needs in any case.")]
    limits: Annotated[dict[str, int], Meta(description="The limits in force, by letter.")]
    waiting_partitions: int
    waiting: Annotated[list[WaitingPartition], Meta(description="The first 100 of them.")]
    brokers: list[ReviewedBroker]
