"""Which world the setting `backend` stands for."""

from functools import partial

from backends.clock import Clock
from backends.upstream.own_records import OwnRecords
from controller.port import Store
from controller.state import State
from reassignd.config import UPSTREAM, Settings
from reassignd.embedded_world import EmbeddedWorld
from reassignd.gateway_world import GatewayWorld
from reassignd.world import Build, Hooks


def world(settings: Settings, state: State, store: Store, clock: Clock | None = None) -> tuple[Build, Store]:
    """How to make the world that is configured, and the store with the records that are its."""
    if settings.backend == UPSTREAM:
        return partial(GatewayWorld, settings, state), OwnRecords(store)

    def embedded(hooks: Hooks) -> EmbeddedWorld:
        return EmbeddedWorld(settings, state, hooks, clock)

    return embedded, store
