"""What the rest of the backend asks the upstream through, as a port; `backends.upstream.client` implements it."""

from collections.abc import Mapping
from typing import Protocol

from backends.client.asker import BrokerClient
from backends.upstream.client import UpstreamBroker
from common.off_loop import OffLoop


class UpstreamPort(BrokerClient, Protocol):
    """Connections to the brokers of a cluster."""

    @property
    def brokers(self) -> Mapping[int, UpstreamBroker]:
        """As the last `refresh` saw them."""
        ...

    @property
    def off_loop(self) -> OffLoop:
        """Where what came of a large answer is looked through."""
        ...

    async def refresh(self) -> None:
        """Learn the brokers. Raises BrokerError."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...
