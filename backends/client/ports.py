"""The port for sending requests to the brokers of a cluster."""

from typing import Protocol

from protocol.schema import Request, Response


class BrokerClient(Protocol):
    """Sends requests to brokers."""

    async def ask(self, request: Request[Response], broker: int | None = None) -> Response:
        """Return the response of the broker with this id, or of any broker. Raises BrokerError."""
        ...
