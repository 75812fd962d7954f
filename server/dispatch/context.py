"""The context of a request: its caller and the services for its handler."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple, ParamSpec, TypeVar

from common.off_loop import OffLoop
from controller.model.cluster import Broker
from controller.ports import Submitter
from controller.state.state import State
from server.dispatch.authorizer import CLUSTER, Authorizer, Operation, Resource, authorized_operations, topic
from server.dispatch.cache import BodyCache
from server.dispatch.listing import KeptListing
from server.ports import BrokerPort

P = ParamSpec("P")
R = TypeVar("R")

LARGE_ROWS = 5_000
"""Rows that take a few milliseconds to translate. More rows are translated in the worker thread, which adds
latency."""

ROWS_PER_YIELD = 50
"""Rows after which a long handler lets other tasks run."""

NOT_ASKED = -2147483648
"""The value of authorized operations if the request did not ask for them."""


@dataclass(frozen=True, slots=True)
class Services:
    """The services that all connections share. `new_id` returns sixteen random bytes for a topic id."""

    cluster_id: str
    state: State
    driver: Submitter
    authorizer: Authorizer
    off_loop: OffLoop
    bodies: BodyCache
    new_id: Callable[[], bytes]
    manages_acls: bool = False
    """Whether clients may list and change ACLs: the authorizer uses those of the state."""
    listing: KeptListing = field(default_factory=KeptListing)


class Context(NamedTuple):
    """The caller of a request, and the services that its handler uses."""

    services: Services
    state: State
    authorizer: Authorizer
    broker: BrokerPort
    """The broker whose listener received the request."""
    principal: str
    peer: str
    client_id: str | None
    api_version: int
    via: str = ""
    """As in `server.dispatch.router.Caller`."""

    @property
    def controller_id(self) -> int:
        """The broker that Metadata names as controller.

        Any live broker is valid: all listeners lead to the same controller.
        """
        return min(self.state.live, default=-1)

    async def yield_to_loop(self, done: int) -> None:
        """Let other tasks run after every `ROWS_PER_YIELD` rows; `done` counts the rows."""
        if done % ROWS_PER_YIELD == 0:
            await asyncio.sleep(0)

    def brokers(self) -> list[Broker]:
        """Return all registered brokers in order of id."""
        return [broker for _, broker in sorted(self.state.brokers.items())]

    def off_loop(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
        """Call the function in the worker thread: it has more than `LARGE_ROWS` rows to translate."""
        return self.services.off_loop.run(function, *args, **kwargs)

    def allows(self, operation: Operation, resource: Resource = CLUSTER) -> bool:
        """Return whether the principal may perform the operation."""
        return self.authorizer.allows(self.principal, operation, resource)

    def allows_topic(self, operation: Operation, name: str) -> bool:
        """Return whether the principal may perform the operation on the topic."""
        return self.authorizer.allows(self.principal, operation, topic(name))

    def operations_on(self, resource: Resource, include: bool) -> int:
        """Return the bit field of permitted operations (KIP-430), or NOT_ASKED.

        Those on the cluster are 0 without DESCRIBE on it, as in Kafka.
        """
        if not include:
            return NOT_ASKED
        if resource == CLUSTER and not self.allows(Operation.DESCRIBE):
            return 0
        return authorized_operations(self.authorizer, self.principal, resource)
