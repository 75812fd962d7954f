"""Embedded mode: a simulated cluster whose records are in the data directory."""

from controller.state.state import State
from reassignd.config.config import Settings
from reassignd.runtime.adapter import Hooks
from reassignd.runtime.data_dir import DataDirRuntime
from reassignd.runtime.embedded_adapter import EmbeddedAdapter


class EmbeddedRuntime(DataDirRuntime):
    """Implements `Runtime` for embedded mode. See `EmbeddedAdapter` for `demo_topics`."""

    kind = "brokers"

    def __init__(self, settings: Settings, *, demo_topics: bool) -> None:
        super().__init__(settings)
        self._demo_topics = demo_topics

    def _new_adapter(self, state: State, hooks: Hooks) -> EmbeddedAdapter:
        return EmbeddedAdapter(self._settings, state, hooks, demo_topics=self._demo_topics)
