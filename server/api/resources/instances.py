"""`/v1/instances`: the instances before the cluster, and the hand-over to another one."""

from typing import Annotated

from msgspec import Meta, Struct

from server.api.shared.call import Call, Endpoint
from server.api.shared.errors import HttpError
from server.api.shared.process import Instances


class InstanceInfo(Struct):
    """An instance of reassignd before the cluster."""

    id: Annotated[str, Meta(description="A new one at each start.")]
    active: bool
    version: str
    url: Annotated[str, Meta(description="The URL of its HTTP API for other instances.")]
    started_ms: Annotated[int, Meta(description="Start of the process, in milliseconds since 1970.")]
    lag: Annotated[int, Meta(description="Records of the state topic that it has not read yet.")]


class InstanceList(Struct):
    """The instances before the cluster."""

    term: Annotated[int, Meta(description="Increases with each change of the active instance.")]
    active_since_ms: Annotated[int, Meta(description="Start of the term, in milliseconds since 1970.")]
    instances: Annotated[
        list[InstanceInfo],
        Meta(description="The active instance first, then the standbys that were heard lately."),
    ]


class HandOver(Struct):
    """The answer to a hand-over."""

    standbys: Annotated[int, Meta(description="Instances of which one takes over.")]


async def instances(call: Call) -> InstanceList:
    """List the instances."""
    found = _instances(call)
    return InstanceList(
        found.term,
        found.active_since_ms,
        [
            InstanceInfo(row.id, row.active, row.version, row.url, row.started_ms, row.lag)
            for row in found.rows()
        ],
    )


async def hand_over(call: Call) -> HandOver:
    """End the term of this instance, soon after the answer. A standby takes over."""
    found = _instances(call)
    standbys = len(found.rows()) - 1
    if not standbys:
        raise HttpError(409, "there is no standby that could take over")
    found.hand_over()
    return HandOver(standbys)


def _instances(call: Call) -> Instances:
    if call.services.instances is None:
        raise HttpError(409, "there is only this instance; several need `state=topic`")
    return call.services.instances


ENDPOINTS = (
    Endpoint("GET", "/v1/instances", "List the instances before the cluster.", instances, InstanceList),
    Endpoint(
        "POST",
        "/v1/instances/hand-over",
        "Let another instance become the active one.",
        hand_over,
        HandOver,
    ),
)
