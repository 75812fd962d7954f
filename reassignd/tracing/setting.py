"""The setting `traces.exporter`. OpenTelemetry is imported only if it is on."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from common.clock import wall_clock
from common.wording import missing
from controller.state.state import State
from reassignd.config.config import Settings
from reassignd.errors import ConfigError
from reassignd.tracing.job_spans import JobSpans, Size

if TYPE_CHECKING:
    from reassignd.tracing.otlp import SpanExport


def check_traces(settings: Settings) -> None:
    """Raise ConfigError if the setting needs packages that are not installed."""
    if settings.traces_exporter == "otlp" and not _is_installed():
        raise ConfigError(missing("traces.exporter=otlp", "further packages", "otel"))


def open_traces(settings: Settings) -> "Traces | None":
    """Return the traces of this process; None if they are off. Raises ConfigError."""
    check_traces(settings)
    if settings.traces_exporter == "none":
        return None
    from reassignd.tracing.otlp import SpanExport

    return Traces(SpanExport(), settings.traces_partitions_per_job)


class Traces:
    """The export of this process. `most` is the number of partitions of a job that have spans."""

    def __init__(self, export: "SpanExport", most: int, now_ms: Callable[[], int] = wall_clock) -> None:
        self._export, self._most, self._now_ms = export, most, now_ms

    def follow(self, state: State, cluster_id: str, size: Size) -> JobSpans:
        """Return what makes the spans of the jobs of `state`. See `JobSpans`."""
        return JobSpans(state, cluster_id, size, self._export.export, self._most, self._now_ms())

    def close(self) -> None:
        """Send what is queued, for a limited time."""
        self._export.close()


def _is_installed() -> bool:
    try:
        return all(
            find_spec(each) for each in ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
        )
    except ModuleNotFoundError:  # A parent of them is missing.
        return False
