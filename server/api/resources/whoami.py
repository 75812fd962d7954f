"""`/v1/whoami`: the client as the server knows it."""

from server.api.call import Call
from server.api.models.shared import Whoami
from server.api.table import Endpoint


async def whoami(call: Call) -> Whoami:
    """Return the principal and the role of the client."""
    return Whoami(call.principal, call.identity.role.label)


ENDPOINTS = (Endpoint("GET", "/v1/whoami", "Get the principal and the role of the client.", whoami, Whoami),)
