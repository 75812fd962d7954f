"""The port through which this backend queries the upstream; `backends.upstream.client` implements it."""

from collections.abc import Mapping
from typing import Protocol

from backends.client.ports import BrokerClient
from backends.upstream.client import UpstreamBroker
from common.off_loop import OffLoop


class UpstreamPort(BrokerClient, Protocol):
    """Connections to the brokers of a cluster."""

    @property
    def brokers(self) -> Mapping[int, UpstreamBroker]:
        """The brokers of the last `refresh`, by id."""
        ...

    @property
    def off_loop(self) -> OffLoop:
        """The executor that converts large responses outside the event loop."""
        ...

    async def refresh(self) -> None:
        """Update `brokers`. Raises BrokerError."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...
