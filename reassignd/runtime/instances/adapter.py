"""The cluster adapter of one term of the active instance. The listeners outlive it."""

from collections.abc import Callable
from typing import NamedTuple

from backends.client.errors import AuthenticationError
from backends.client.handshake import Caller
from backends.upstream.rows import UpstreamCounters
from controller.ports import StoreLostError
from controller.state.state import State
from reassignd.config.config import Settings
from reassignd.runtime.adapter import Hooks
from reassignd.runtime.upstream_adapter import UpstreamAdapter
from server.counters import Counters, RelayCounters
from server.dispatch.router import Router


class TermCounters(NamedTuple):
    """Counters that go on from term to term."""

    relayed: RelayCounters
    upstream: UpstreamCounters


class TermAdapter(UpstreamAdapter):
    """Implements `reassignd.runtime.adapter.ClusterAdapter`. `permit` tells whether steps may be sent now."""

    def __init__(
        self,
        settings: Settings,
        state: State,
        hooks: Hooks,
        caller: Caller,
        permit: Callable[[], bool],
        counters: TermCounters,
    ) -> None:
        super().__init__(settings, state, hooks, caller, permit=permit, counters=counters.upstream)
        self.relayed = counters.relayed

    def serve(self, router: Router, stats: Counters) -> None:
        """Do nothing: the runtime switches the gateway to this term when it has started."""

    async def start(self, show_obstacle: Callable[[str], None]) -> None:
        """Return when the upstream was polled. Raises StoreLostError if the login is refused."""
        try:
            await self.backend.start(show_obstacle)
        except AuthenticationError as error:
            raise StoreLostError(str(error)) from error

    @property
    def writes_in_flight(self) -> int:
        """Number of writes that the upstream has not answered."""
        return self._client.writes_in_flight

    async def stop(self) -> None:
        """See `ClusterAdapter.stop`."""
        await self.backend.stop()
