"""`POST /fix_offline_replicas`: replace the replicas that are lost, and nothing else."""

from server.api.shared.proposals import ProposalRequest
from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.optimization import Wanted, optimize
from server.cruisecontrol.shared.plan_parameters import PlanParameters
from server.cruisecontrol.shared.tasks import RunningTask


async def fix_offline_replicas(call: CruiseControlCall, given: PlanParameters, task: RunningTask) -> bytes:
    """Plan, and execute if it is no dry run."""
    return await optimize(call, given, Wanted(ProposalRequest(repair=True)), task)


ENDPOINTS = (
    Endpoint(
        "POST",
        "fix_offline_replicas",
        "Replace lost replicas.",
        PlanParameters,
        work=fix_offline_replicas,
        held=True,
    ),
)
