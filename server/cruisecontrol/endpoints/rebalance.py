"""`POST /rebalance`: even out the brokers by goals."""

from typing import Annotated

from msgspec import Meta, field

from server.api.shared.proposals import DiskRequest, ProposalRequest
from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.disk_results import DISK_GOALS
from server.cruisecontrol.shared.elections import GOAL, elect_preferred
from server.cruisecontrol.shared.errors import bad_parameter
from server.cruisecontrol.shared.optimization import Wanted, check_brokers, optimize
from server.cruisecontrol.shared.parameters import Brokers, simple_name
from server.cruisecontrol.shared.plan_parameters import AtOnce, PlanParameters
from server.cruisecontrol.shared.tasks import RunningTask


class RebalanceParameters(PlanParameters, kw_only=True):
    """The parameters of a rebalance."""

    destination_broker_ids: Annotated[Brokers, Meta(description="Only these brokers get replicas.")] = field(
        default_factory=list
    )
    ignore_proposal_cache: Annotated[bool, Meta(description="No effect: a rebalance plans anew.")] = False
    rebalance_disk: Annotated[
        bool, Meta(description="Even out the log directories within each broker, and nothing else.")
    ] = False
    concurrent_intra_broker_partition_movements: AtOnce = None


async def rebalance(
    call: CruiseControlCall, given: RebalanceParameters, task: RunningTask, reuse_ms: int = 0
) -> bytes:
    """Plan, and execute if it is no dry run. The plan of a dry run may be `reuse_ms` old."""
    if given.rebalance_disk:
        return await optimize(call, given, _of_disks(given, reuse_ms), task)
    if list(map(simple_name, given.goals)) == [simple_name(GOAL.name)]:
        return await elect_preferred(call, given, task)
    check_brokers(call.state, given.destination_broker_ids)
    return await optimize(call, given, Wanted(_wanted(call, given), evens=True, reuse_ms=reuse_ms), task)


def _of_disks(given: RebalanceParameters, reuse_ms: int) -> Wanted:
    """Return what evens out directories. Raises CruiseControlError for goals of another kind."""
    known = {name.lower() for name in DISK_GOALS}
    if others := [name for name in given.goals if simple_name(name) not in known]:
        raise bad_parameter(
            f"rebalance_disk=true has the goals {' and '.join(DISK_GOALS)}, not {others[0][:80]}."
        )
    if given.destination_broker_ids:
        raise bad_parameter("rebalance_disk=true moves nothing to other brokers: no destination_broker_ids.")
    at_once = given.concurrent_intra_broker_partition_movements
    return Wanted(ProposalRequest(disks=DiskRequest()), reuse_ms=reuse_ms, goals=DISK_GOALS, at_once=at_once)


def _wanted(call: CruiseControlCall, given: RebalanceParameters) -> ProposalRequest:
    """Return the request without the goals."""
    others = sorted(call.state.cluster.brokers.keys() - {*given.destination_broker_ids})
    return ProposalRequest(balance=True, exclude_brokers=others if given.destination_broker_ids else [])


ENDPOINTS = (
    Endpoint(
        "POST", "rebalance", "Even out the brokers by goals.", RebalanceParameters, work=rebalance, held=True
    ),
)
