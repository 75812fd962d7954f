"""Whoever wants something of a broker asks through this port."""

from typing import Any, Protocol


class BrokerClient(Protocol):
    """Asks brokers."""

    async def ask(self, request: tuple[Any, ...], broker: int | None = None) -> Any:
        """The response of that broker, or of any. Raises BrokerError."""
        ...
