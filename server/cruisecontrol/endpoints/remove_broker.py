"""`POST /remove_broker`: move all replicas away from brokers."""

from typing import Annotated

from msgspec import Meta, field

from server.api.shared.proposals import ProposalRequest
from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.optimization import Wanted, check_brokers, optimize
from server.cruisecontrol.shared.parameters import Brokers
from server.cruisecontrol.shared.plan_parameters import PlanParameters
from server.cruisecontrol.shared.tasks import RunningTask


class RemoveBrokerParameters(PlanParameters, kw_only=True):
    """The parameters of brokers that leave."""

    brokerid: Annotated[Brokers, Meta(description="The brokers that leave.", min_length=1)]
    destination_broker_ids: Annotated[Brokers, Meta(description="Only these brokers get replicas.")] = field(
        default_factory=list
    )
    throttle_removed_broker: Annotated[bool, Meta(description="No effect.")] = False


async def remove_broker(call: CruiseControlCall, given: RemoveBrokerParameters, task: RunningTask) -> bytes:
    """Plan, and execute if it is no dry run."""
    leaving = frozenset(given.brokerid)
    check_brokers(call.state, [*given.brokerid, *given.destination_broker_ids])
    others = sorted(call.state.cluster.brokers.keys() - leaving - {*given.destination_broker_ids})
    excluded = others if given.destination_broker_ids else []
    request = ProposalRequest(drain=given.brokerid, exclude_brokers=excluded)
    return await optimize(call, given, Wanted(request, leaving=leaving), task)


ENDPOINTS = (
    Endpoint(
        "POST",
        "remove_broker",
        "Move all replicas away from brokers.",
        RemoveBrokerParameters,
        work=remove_broker,
        held=True,
    ),
)
