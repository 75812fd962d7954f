"""What Spark does for the plans of a running server, as `/v1/status` shows it."""

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple


class SparkState(Enum):
    """Where it stands."""

    OFF = "off"
    """No plan is large enough."""
    MISSING = "missing"
    READY = "ready"
    WORKING = "working"
    ORDERED = "ordered"
    FAILED = "failed"


class SparkView(NamedTuple):
    """`job`, `partitions` and `since_ms` are those of the last plan that was handed over; `forecast` is planner's."""

    state: SparkState = SparkState.OFF
    reason: str = ""
    min_partitions: int = 0
    job: int | None = None
    partitions: int | None = None
    since_ms: int | None = None
    forecast: Mapping[str, Any] | None = None

    def row(self) -> dict[str, Any]:
        """The schema's `Spark`."""
        return {**self._asdict(), "state": self.state.value}
