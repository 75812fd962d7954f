"""`/v1/throughput`: how fast reassignments copied data in the last hour, by broker."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from server.api.shared.call import Call, Endpoint
from server.progress.rates import SAMPLE_SECONDS

Rates: TypeAlias = Annotated[
    list[int | None],
    Meta(
        description="Bytes per second, one number for each time; null where the sizes of replicas are "
        "not known."
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


async def throughput(call: Call, query: ThroughputQuery) -> Throughput:
    """Return the samples of all registered brokers, and of others that took part."""
    samples = call.services.progress.throughput.samples(query.since)
    brokers = set(call.state.cluster.brokers).union(*(each.incoming | each.outgoing for each in samples))
    rows = [
        BrokerThroughput(
            broker,
            [each.incoming.get(broker, 0) for each in samples],
            [each.outgoing.get(broker, 0) for each in samples],
        )
        for broker in sorted(brokers)
    ]
    return Throughput(
        round(SAMPLE_SECONDS * 1000),
        [each.time_ms for each in samples],
        [each.throttle for each in samples],
        rows,
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/throughput",
        "Get the throughput of the last hour by broker.",
        throughput,
        Throughput,
        query=ThroughputQuery,
    ),
)
