"""`/v1/whoami`: the client as the server knows it."""

from server.api.shared.call import Call, Endpoint
from server.api.shared.models import Whoami


async def whoami(call: Call) -> Whoami:
    """Return the principal and the role of the client."""
    return Whoami(call.principal, call.identity.role.label)


ENDPOINTS = (Endpoint("GET", "/v1/whoami", "Get the principal and the role of the client.", whoami, Whoami),)
