"""`POST /rightsize`: not offered; every request is refused with the reason."""

from typing import Annotated

from msgspec import Meta

from server.cruisecontrol.shared.answers import Message
from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.errors import not_offered
from server.cruisecontrol.shared.parameters import Parameters

Refused = Meta(description="Refused.")


class RightsizeParameters(Parameters, kw_only=True):
    """How large the cluster is to be."""

    num_brokers_to_add: Annotated[int | None, Refused] = None
    partition_count: Annotated[int | None, Refused] = None
    topic: Annotated[str, Refused] = ""


async def rightsize(_: CruiseControlCall, __: RightsizeParameters) -> Message:
    """Refuse."""
    raise not_offered("reassignd starts no brokers and adds no partitions.")


ENDPOINTS = (
    Endpoint("POST", "rightsize", "Add brokers or partitions (refused).", RightsizeParameters, rightsize),
)
