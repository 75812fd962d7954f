"""`POST /add_broker`: move replicas to new brokers."""

from typing import Annotated

from msgspec import Meta

from server.api.shared.proposals import ProposalRequest
from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.optimization import Wanted, check_brokers, optimize
from server.cruisecontrol.shared.parameters import Brokers
from server.cruisecontrol.shared.plan_parameters import PlanParameters
from server.cruisecontrol.shared.tasks import RunningTask


class AddBrokerParameters(PlanParameters, kw_only=True):
    """The parameters of new brokers."""

    brokerid: Annotated[Brokers, Meta(description="The new brokers.", min_length=1)]
    throttle_added_broker: Annotated[bool, Meta(description="No effect.")] = True


async def add_broker(call: CruiseControlCall, given: AddBrokerParameters, task: RunningTask) -> bytes:
    """Plan, and execute if it is no dry run."""
    check_brokers(call.state, given.brokerid)
    request = ProposalRequest(add=given.brokerid)
    return await optimize(call, given, Wanted(request, evens=True, new=frozenset(given.brokerid)), task)


ENDPOINTS = (
    Endpoint(
        "POST", "add_broker", "Move replicas to new brokers.", AddBrokerParameters, work=add_broker, held=True
    ),
)
