"""`GET /proposals`: what a rebalance would do; the plan may be some minutes old."""

from typing import Annotated

from msgspec import Meta, field
from msgspec.structs import asdict

from server.cruisecontrol.endpoints.rebalance import RebalanceParameters, rebalance
from server.cruisecontrol.shared.access import ClientRole
from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.parameters import Brokers
from server.cruisecontrol.shared.plan_parameters import GoalParameters
from server.cruisecontrol.shared.tasks import RunningTask

KEPT_MS = 15 * 60 * 1000
"""How old a plan may be, by default with Cruise Control too."""


class ProposalsParameters(GoalParameters, kw_only=True):
    """The parameters of a rebalance that is not executed."""

    destination_broker_ids: Annotated[Brokers, Meta(description="Only these brokers get replicas.")] = field(
        default_factory=list
    )
    ignore_proposal_cache: Annotated[
        bool,
        Meta(
            description="Plan anew. Else the client's last plan for the same parameters is shown, if it still"
            " fits and is at most 15 minutes old."
        ),
    ] = False
    rebalance_disk: Annotated[
        bool, Meta(description="Even out the log directories within each broker, and nothing else.")
    ] = False


async def proposals(call: CruiseControlCall, given: ProposalsParameters, task: RunningTask) -> bytes:
    """Plan, or show the last plan."""
    reuse_ms = 0 if given.ignore_proposal_cache else KEPT_MS
    return await rebalance(call, RebalanceParameters(**asdict(given)), task, reuse_ms)


ENDPOINTS = (
    Endpoint(
        "GET",
        "proposals",
        "Show what a rebalance would do.",
        ProposalsParameters,
        work=proposals,
        role=ClientRole.USER,
    ),
)
