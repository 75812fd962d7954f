"""Measured load: what producers write and consumers read, in bytes per second (docs/load.md).

The port between what measures it and what shows it. None stands for what is not known.
"""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple, Protocol


class Quality(Enum):
    """How a figure of bytes in was found."""

    EXACT = "exact"
    """By the growth of the log, from which nothing was deleted."""
    ESTIMATED = "estimated"
    """By the number of records and their mean size."""
    UNKNOWN = "unknown"


class LoadUnit(Enum):
    """What a row is about."""

    BROKER = "broker"
    TOPIC = "topic"
    PARTITION = "partition"


class LoadSort(Enum):
    """By what rows are in descending order; rows without a figure are last."""

    IN = "in"
    OUT = "out"
    BUSY = "busy"
    """By bytes in during the busy hour."""


class Rates(NamedTuple):
    """What clients write and read: in the last minutes, in the cluster's busy hour, and in a mean hour."""

    bytes_in: float | None = None
    bytes_out: float | None = None
    busy_in: float | None = None
    busy_out: float | None = None
    mean_in: float | None = None
    mean_out: float | None = None


class LoadRow(NamedTuple):
    """The load of a broker, as the leader of its partitions, of a topic or of a partition."""

    broker: int | None
    topic: str | None
    partition: int | None
    rates: Rates
    quality: Quality
    coverage: float
    """Fraction of its partitions whose bytes in are known."""
    replication_in: float | None = None
    """Only of brokers: what its followers fetch."""
    replication_out: float | None = None
    """Only of brokers: what followers elsewhere fetch from it."""
    measured_ms: int | None = None
    """Only of brokers: when it has answered last."""
    cpu: float | None = None
    """Only of brokers, and only by a Prometheus: the fraction of its CPU that is in use."""
    potential_out: float | None = None
    """Only of brokers: what consumers would read from it if it led all partitions of its replicas."""


class LoadPage(NamedTuple):
    """Rows, and the number of all rows."""

    rows: Sequence[LoadRow]
    total: int


class LoadSummary(NamedTuple):
    """What is known of the whole cluster."""

    sampling: bool
    """Whether load is to be measured."""
    problems: Sequence[str] = ()
    """Why figures are missing, one line each."""
    measured_ms: int | None = None
    """When the last round has ended."""
    coverage: float = 0.0
    """Fraction of the partitions whose bytes in are known."""
    rates: Rates = Rates()
    """Of all partitions together."""
    busy_hour: int | None = None
    """The hour of the day, in UTC, in which producers write most; None before anything is known of it."""
    hours: Sequence[Rates] = ()
    """What is known of each hour of the day, in UTC; only the first two fields."""
    matched: Sequence[str] = ()
    """Which metrics of a Prometheus have told which figures, one line each."""


class Loads(Protocol):
    """The measured load. `page` computes, and may be called in any thread."""

    def summary(self) -> LoadSummary:
        """Return what is known of the whole cluster."""
        ...

    def by_broker(self) -> Sequence[LoadRow]:
        """Return the rows of all brokers, of the last round."""
        ...

    def page(self, by: LoadUnit, sort: LoadSort, offset: int, limit: int) -> LoadPage:
        """Return some rows."""
        ...

    def rates(self, topic: str, partition: int) -> Rates | None:
        """Return the load of a partition; None if nothing is known of it."""
        ...
