"""Which world the setting `backend` stands for."""

from functools import partial

from backends.upstream.records import OwnRecords
from common.clock import Clock
from controller.ports import Store
from controller.state.state import State
from reassignd.config.config import UPSTREAM, Settings
from reassignd.runtime.embedded import EmbeddedRuntime
from reassignd.runtime.gateway import GatewayRuntime
from reassignd.runtime.runtime import Build, Hooks


def make_runtime(
    settings: Settings, state: State, store: Store, clock: Clock | None = None
) -> tuple[Build, Store]:
    """How to make the world that is configured, and the store with the records that are its."""
    if settings.backend == UPSTREAM:
        return partial(GatewayRuntime, settings, state), OwnRecords(store)

    def embedded(hooks: Hooks) -> EmbeddedRuntime:
        return EmbeddedRuntime(settings, state, hooks, clock)

    return embedded, store
