"""`POST /remove_disks`: move all replicas out of log directories, into others of the same broker."""

from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta

from server.api.shared.proposals import DiskRequest, NamedDir, ProposalRequest
from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.disk_results import REMOVAL_GOALS
from server.cruisecontrol.shared.errors import bad_parameter
from server.cruisecontrol.shared.optimization import Wanted, check_brokers, optimize
from server.cruisecontrol.shared.parameters import Names
from server.cruisecontrol.shared.plan_parameters import AtOnce, PlanParameters
from server.cruisecontrol.shared.tasks import RunningTask


class RemoveDisksParameters(PlanParameters, kw_only=True):
    """The parameters of directories that are emptied."""

    brokerid_and_logdirs: Annotated[Names, Meta(description="BROKER-PATH, with commas.", min_length=1)]
    concurrent_intra_broker_partition_movements: AtOnce = None


async def remove_disks(call: CruiseControlCall, given: RemoveDisksParameters, task: RunningTask) -> bytes:
    """Plan, and execute if it is no dry run."""
    dirs = list(_read(given.brokerid_and_logdirs))
    check_brokers(call.state, [each.broker for each in dirs])
    request = ProposalRequest(disks=DiskRequest(empty=dirs))
    at_once = given.concurrent_intra_broker_partition_movements
    return await optimize(call, given, Wanted(request, goals=REMOVAL_GOALS, at_once=at_once), task)


def _read(texts: Iterable[str]) -> Iterable[NamedDir]:
    """Raise CruiseControlError for a text of another form."""
    for text in texts:
        broker, _, path = text.partition("-")
        if not (broker.isascii() and broker.isdecimal()) or len(broker) > 9 or not path:
            raise bad_parameter(f"brokerid_and_logdirs has '{text[:80]}', expected BROKER-PATH.")
        yield NamedDir(int(broker), path)


ENDPOINTS = (
    Endpoint(
        "POST",
        "remove_disks",
        "Move all replicas out of log directories.",
        RemoveDisksParameters,
        work=remove_disks,
        held=True,
    ),
)
