"""The models of `/v1/snapshot`."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from server.api.models.shared import Replicas


class SnapshotCluster(Struct, tag_field="kind", tag="cluster"):
    """The cluster."""

    cluster_id: str


class SnapshotBroker(Struct, tag_field="kind", tag="broker"):
    """A broker."""

    id: int
    rack: str | None
    live: bool
    host: str
    port: int
    disk_bytes: Annotated[int | None, Meta(description="Size of its disks; null if it is not known.")]


class SnapshotPartition(Struct, tag_field="kind", tag="partition"):
    """A partition after its last completed step."""

    topic: str
    partition: int
    replicas: Replicas
    isr: Annotated[list[int], Meta(description="In-sync replicas.")]
    leader: int
    bytes: Annotated[int | None, Meta(description="Size of one replica; null if it is not known.")]
    min_isr: int
    target: Annotated[
        Replicas | None,
        Meta(
            description="Its replicas after the ongoing or queued reassignment, none if the topic waits for its"
            " deletion; null if the replicas stay."
        ),
    ]


SnapshotRow: TypeAlias = Annotated[
    SnapshotCluster | SnapshotBroker | SnapshotPartition,
    Meta(
        title="SnapshotRow", description="One line each: the cluster, then the brokers, then the partitions."
    ),
]
