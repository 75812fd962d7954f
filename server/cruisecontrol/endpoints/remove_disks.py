"""`POST /remove_disks`: not offered yet; every request is refused with the reason."""

from typing import Annotated

from msgspec import Meta, field

from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.errors import refused
from server.cruisecontrol.shared.parameters import Names
from server.cruisecontrol.shared.plan_parameters import PlanParameters
from server.cruisecontrol.shared.tasks import RunningTask


class RemoveDisksParameters(PlanParameters, kw_only=True):
    """The parameters of directories that are emptied."""

    brokerid_and_logdirs: Annotated[Names, Meta(description="BROKER-PATH, with commas.")] = field(
        default_factory=list
    )


async def remove_disks(_: CruiseControlCall, __: RemoveDisksParameters, task: RunningTask) -> bytes:
    """Refuse."""
    raise refused(f"{task.request.endpoint}: reassignd does not empty the log directories of a broker")


ENDPOINTS = (
    Endpoint(
        "POST",
        "remove_disks",
        "Empty log directories (refused).",
        RemoveDisksParameters,
        work=remove_disks,
        held=True,
    ),
)
