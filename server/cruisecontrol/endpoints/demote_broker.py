"""`POST /demote_broker`: let other brokers lead what brokers lead; no data moves."""

from typing import Annotated

from msgspec import Meta, field

from server.api.shared.proposals import ProposalRequest
from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.errors import bad_parameter, refused
from server.cruisecontrol.shared.optimization import Wanted, check_brokers, optimize
from server.cruisecontrol.shared.parameters import Brokers, Names
from server.cruisecontrol.shared.plan_parameters import PlanParameters
from server.cruisecontrol.shared.tasks import RunningTask


class DemoteBrokerParameters(PlanParameters, kw_only=True):
    """The parameters of brokers that lead nothing."""

    brokerid: Annotated[Brokers, Meta(description="The brokers.")] = field(default_factory=list)
    brokerid_and_logdirs: Annotated[Names, Meta(description="Refused: directories are not demoted.")] = field(
        default_factory=list
    )
    skip_urp_demotion: Annotated[bool, Meta(description="No effect: only replicas in sync take over.")] = True
    exclude_follower_demotion: Annotated[bool, Meta(description="No effect.")] = True


async def demote_broker(call: CruiseControlCall, given: DemoteBrokerParameters, task: RunningTask) -> bytes:
    """Plan, and execute if it is no dry run."""
    if given.brokerid_and_logdirs:
        raise refused("brokerid_and_logdirs: reassignd demotes whole brokers")
    if not given.brokerid:
        raise bad_parameter("The parameter brokerid is missing.")
    check_brokers(call.state, given.brokerid)
    demoted = frozenset(given.brokerid)
    return await optimize(call, given, Wanted(ProposalRequest(demote=given.brokerid), demoted=demoted), task)


ENDPOINTS = (
    Endpoint(
        "POST",
        "demote_broker",
        "Let other brokers lead what brokers lead.",
        DemoteBrokerParameters,
        work=demote_broker,
        held=True,
    ),
)
