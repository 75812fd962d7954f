"""The part of `/v1/status` about Spark, which plans large jobs of a running server."""

from enum import Enum
from typing import Annotated

from msgspec import Meta, Struct


class SparkState(Enum):
    """What the Spark planner does now."""

    OFF = "off"
    """No plan is large enough."""
    MISSING = "missing"
    """Spark is not installed, or cannot run."""
    STARTING = "starting"
    """Its session is being opened; jobs are planned after that."""
    READY = "ready"
    WORKING = "working"
    ORDERED = "ordered"
    FAILED = "failed"


class Forecast(Struct, frozen=True):
    """The forecast of a whole job (`planner.model.forecast.Forecast`)."""

    partitions: int
    steps: int
    waves: int
    replica_movements: int
    leader_movements: int
    bytes: int
    bandwidth: Annotated[int, Meta(description="Bytes per second into, and out of, each broker.")]
    seconds: float
    least_seconds: float
    waiting_partitions: Annotated[int, Meta(description="Partitions that cannot reach their target now.")]


class BegunSteps(Struct, frozen=True):
    """Steps of planned partitions that have begun since the start (`controller.scheduling.backlog`)."""

    same: Annotated[int, Meta(description="Those that the server's own rule gave too.")] = 0
    differs: Annotated[
        int, Meta(description="Those for which its rule gave another step, which was used.")
    ] = 0
    replanned: Annotated[
        int, Meta(description="Steps after one that differed: the server planned them itself.")
    ] = 0


class Spark(Struct, frozen=True):
    """The state of the Spark planner. `job`, `partitions`, `since_ms` and `forecast` are of the last planned job."""  # noqa: E501 (part of the OpenAPI document)

    state: SparkState = SparkState.OFF
    reason: Annotated[str, Meta(description="Why Spark is missing, or why it failed; else empty.")] = ""
    min_partitions: Annotated[
        int, Meta(description="Jobs of at least this many partitions are planned on Spark.")
    ] = 0
    job: Annotated[int | None, Meta(description="The last planned job.")] = None
    partitions: Annotated[int | None, Meta(description="Partitions sent to Spark, or put in order.")] = None
    since_ms: Annotated[int | None, Meta(description="Start of this state, in milliseconds since 1970.")] = (
        None
    )
    forecast: Forecast | None = None
    steps: BegunSteps = BegunSteps()
