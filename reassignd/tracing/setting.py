"""The setting `traces.exporter`. OpenTelemetry is imported only if it is on."""

from importlib import import_module
from typing import TYPE_CHECKING

from common.wording import missing
from reassignd.config.errors import ConfigError
from reassignd.config.settings import Settings

if TYPE_CHECKING:
    from reassignd.tracing.job_spans import Traces


def check_traces(settings: Settings) -> None:
    """Raise ConfigError if the setting needs packages that are not installed."""
    if settings.traces_exporter == "otlp":
        try:
            import_module("reassignd.tracing.job_spans")
        except ImportError as error:
            raise ConfigError(missing("traces.exporter=otlp", "further packages", "otel")) from error


def open_traces(settings: Settings) -> "Traces | None":
    """Return the traces of this process; None if they are off. Raises ConfigError."""
    check_traces(settings)
    if settings.traces_exporter == "none":
        return None
    from reassignd.tracing.job_spans import Traces

    return Traces(settings.traces_partitions_per_job)
