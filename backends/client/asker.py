"""The port for sending requests to the brokers of a cluster."""

from typing import Any, Protocol


class BrokerClient(Protocol):
    """Sends requests to brokers."""

    async def ask(self, request: tuple[Any, ...], broker: int | None = None) -> Any:
        """Return the response of the broker with this id, or of any broker. Raises BrokerError."""
        ...
