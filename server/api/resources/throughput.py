"""`/v1/throughput`: how fast reassignments copied data in the last hour, by broker."""

from server.api.call import Call
from server.api.models.throughput import BrokerThroughput, Throughput, ThroughputQuery
from server.api.services.throughput import SAMPLE_SECONDS
from server.api.table import Endpoint


async def throughput(call: Call, query: ThroughputQuery) -> Throughput:
    """Return the samples of all registered brokers, and of others that took part."""
    samples = call.services.progress.throughput.samples(query.since)
    brokers = set(call.state.brokers).union(*(each.incoming | each.outgoing for each in samples))
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
