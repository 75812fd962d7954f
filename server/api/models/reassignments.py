"""The models of `/v1/reassignments`."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from controller.model.plan import PartitionName, TopicName
from server.api.models.shared import Refused, Replicas


class ReassignmentRow(Struct):
    """An ongoing reassignment."""

    topic: str
    partition: int
    replicas: Annotated[tuple[int, ...], Meta(description="The target replicas.")]
    adding_replicas: Replicas
    removing_replicas: Replicas


class Reassignments(Struct, omit_defaults=True):
    """The ongoing reassignments as a plan; an empty object when there are none."""

    version: Literal[1] | UnsetType = UNSET
    partitions: list[ReassignmentRow] | UnsetType = UNSET


class Cancel(Struct, forbid_unknown_fields=True):
    """The reassignments to cancel. Exactly one of the fields must be given."""

    everything: Literal[True] | UnsetType = msgspec.field(default=UNSET, name="all")
    topic: TopicName | UnsetType = UNSET
    job: Annotated[int, Meta(ge=1, le=2**63 - 1, extra={"expected": "a job's number"})] | UnsetType = UNSET
    partitions: (
        Annotated[
            list[PartitionName], Meta(min_length=1, extra={"expected": "a list of topics and partitions"})
        ]
        | UnsetType
    ) = UNSET


class PlacedPartition(Struct):
    """A partition and its replicas."""

    topic: str
    partition: int
    replicas: Replicas


class CancelThrottle(Struct):
    """The replication throttles after a cancel."""

    bytes_per_second: Annotated[
        int | None, Meta(description="The rate that reassignd sets, while steps are still in flight.")
    ]
    set_by_others: Annotated[
        list[int] | None,
        Meta(
            description="Brokers with a throttle that reassignd did not set and does not remove; null when unknown."
        ),
    ]


class Cancelled(Struct):
    """Cancelled reassignments."""

    cancelled: int
    partitions: Annotated[
        list[PlacedPartition],
        Meta(description="The replicas that the first 1,000 cancelled partitions return to."),
    ]
    throttle: CancelThrottle
    refused: list[Refused]
