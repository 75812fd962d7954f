"""`/v1/flows`: how many bytes are still to be copied from where to where."""

from collections import Counter
from enum import Enum
from typing import Annotated, TypeAlias, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType

from server.api.shared.call import Call, Endpoint

LARGE_CLUSTER = 60
"""Brokers above which flows are added up by rack, if the client does not say otherwise."""
MOST_FLOWS = 400
"""Flows that are listed: the largest."""

End: TypeAlias = Annotated[
    int | str | None,
    Meta(description="A broker id, or a rack: null is that of the brokers without one."),
]


E = TypeVar("E", tuple[int, int], tuple[str | None, str | None])


class FlowUnit(Enum):
    """What is at the ends of a flow."""

    BROKER = "broker"
    RACK = "rack"


class Flow(Struct):
    """Data that is still to be copied from one end to the other."""

    source: Annotated[End, Meta(description="Where the leaders are, from which the data is copied.")]
    target: End
    bytes: int


class Flows(Struct):
    """The data that the open jobs have to copy, the largest flow first."""

    by: FlowUnit
    bytes: Annotated[int, Meta(description="Of all flows together.")]
    flows: Annotated[list[Flow], Meta(description="The 400 largest.")]
    other_flows: Annotated[int, Meta(description="Number of flows that are not listed.")]
    other_bytes: Annotated[int, Meta(description="Bytes of the flows that are not listed.")]
    measured_ms: Annotated[
        int | None,
        Meta(description="When the sizes were measured, in milliseconds since 1970; null before that."),
    ]


class FlowsQuery(Struct, forbid_unknown_fields=True):
    """Which flows to return."""

    by: (
        Annotated[
            FlowUnit, Meta(description="Default: `rack` in a cluster of more than 60 brokers, else `broker`.")
        ]
        | UnsetType
    ) = UNSET
    job: Annotated[int, Meta(ge=1, le=2**63 - 1, description="Only the data of this job.")] | UnsetType = (
        UNSET
    )
    broker: (
        Annotated[int, Meta(ge=0, le=2**31 - 1, description="Only the data from and to this broker.")]
        | UnsetType
    ) = UNSET


async def flows(call: Call, query: FlowsQuery) -> Flows:
    """Return the flows of the last measurement."""
    found: Counter[tuple[int, int]] = call.services.progress.flows(None if query.job is UNSET else query.job)
    if query.broker is not UNSET:
        found = Counter({pair: size for pair, size in found.items() if query.broker in pair})
    unit = query.by
    if unit is UNSET:
        large = len(call.state.cluster.brokers) > LARGE_CLUSTER and query.broker is UNSET
        unit = FlowUnit.RACK if large else FlowUnit.BROKER
    if unit is FlowUnit.BROKER:
        return _answer(call, unit, found)
    racks = {number: broker.rack for number, broker in call.state.cluster.brokers.items()}
    between = Counter[tuple[str | None, str | None]]()
    for (source, target), size in found.items():
        between[racks.get(source), racks.get(target)] += size
    return _answer(call, unit, between)


def _answer(call: Call, unit: FlowUnit, found: Counter[E]) -> Flows:
    ordered = sorted(found.items(), key=lambda row: (-row[1], str(row[0])))
    rest = [size for _, size in ordered[MOST_FLOWS:]]
    listed = [Flow(source, target, size) for (source, target), size in ordered[:MOST_FLOWS]]
    measured = call.services.progress.measured_ms
    return Flows(unit, sum(found.values()), listed, len(rest), sum(rest), measured)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/flows",
        "Get the bytes that are still to be copied, by the broker or the rack at each end.",
        flows,
        Flows,
        query=FlowsQuery,
        shared=True,
    ),
)
