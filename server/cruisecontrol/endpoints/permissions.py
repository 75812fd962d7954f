"""`GET /permissions`: the role of the client."""

from msgspec import Struct

from server.cruisecontrol.shared.access import ClientRole
from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.parameters import Parameters


class Permissions(Struct):
    """What the client may do."""

    roles: list[str]
    version: int = 1


async def permissions(call: CruiseControlCall, _: Parameters) -> Permissions:
    """Return the role of the client."""
    return Permissions([call.client.role.name])


ENDPOINTS = (
    Endpoint(
        "GET", "permissions", "Show the role of the client.", Parameters, permissions, role=ClientRole.VIEWER
    ),
)
