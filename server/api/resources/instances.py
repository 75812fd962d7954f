"""`/v1/instances`: the instances before the cluster, and the hand-over to another one."""

from server.api.call import Call
from server.api.errors import HttpError
from server.api.models.instances import HandOver, InstanceInfo, InstanceList
from server.api.table import Endpoint
from server.ports import Instances


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
