"""The models of `/v1/throughput`."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

Rates: TypeAlias = Annotated[
    list[int | None],
    Meta(
        description="Bytes per second, one number for each time; null where the sizes of replicas are not known."
    ),
]


class BrokerThroughput(Struct):
    """Data that reassignd's jobs copied to and from a broker."""

    id: int
    incoming: Rates
    outgoing: Annotated[Rates, Meta(description="As the leader of the partitions, when they were measured.")]


class Throughput(Struct):
    """The throughput of the last hour, the oldest sample first."""

    sample_ms: Annotated[int, Meta(description="Usual time from one sample to the next.")]
    times: Annotated[list[int], Meta(description="The end of each sample, in milliseconds since 1970.")]
    throttles: Annotated[list[int | None], Meta(description="The throttle at these times; null for none.")]
    brokers: list[BrokerThroughput]


class ThroughputQuery(Struct, forbid_unknown_fields=True):
    """Which samples to return."""

    since: Annotated[
        int, Meta(ge=0, description="Only samples after this time, in milliseconds since 1970.")
    ] = 0
