"""The sources of the metrics' values."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from controller.model.load import Loads
from controller.state.state import State
from controller.views.reassignments import Counts
from server.counters import Counters, RelayCounters
from server.metrics.waiting_ages import WaitingAges
from server.progress.progress import Progress

NONE: Mapping[str, int] = MappingProxyType({})


class Znodes(NamedTuple):
    """Counts of ZooKeeper mode: rejected documents and rows by kind of znode, and terms by event."""

    documents: Mapping[str, int] = NONE
    rows: Mapping[str, int] = NONE
    terms: Mapping[str, int] = NONE


class Traffic(NamedTuple):
    """Bytes that reassignments copied to and from one broker since the broker started."""

    bytes_in: float
    bytes_out: float


class UpstreamCounters(Protocol):
    """Counts of a gateway's requests to its upstream, since the start."""

    @property
    def polls(self) -> int:
        """Successful polls; `poll_seconds` is their total duration."""
        ...

    @property
    def failed_polls(self) -> int: ...

    @property
    def poll_seconds(self) -> float: ...

    @property
    def last_poll_ms(self) -> int:
        """End of the last successful poll in milliseconds since 1970; 0 before the first."""
        ...

    @property
    def last_whole_poll_ms(self) -> int:
        """Start of the last successful poll of all topics; 0 before the first."""
        ...

    @property
    def errors(self) -> Mapping[tuple[int, str], int]:
        """Failed requests by API key and kind of failure."""
        ...

    @property
    def held(self) -> int:
        """Writes that waited until this instance was certainly the active one."""
        ...

    @property
    def rows(self) -> Mapping[int, int]:
        """Answered rows of AlterPartitionReassignments by error code."""
        ...


class InstanceNumbers(Protocol):
    """What an instance with a state topic knows about itself and the topic."""

    @property
    def active(self) -> bool:
        """Whether this instance is the active one."""
        ...

    @property
    def changes(self) -> int:
        """How often another instance became the active one, since the start."""
        ...

    @property
    def lease_seconds(self) -> float:
        """How long this instance is certainly the active one; 0 for a standby."""
        ...

    @property
    def lag(self) -> int:
        """Records of the state topic that were not read yet."""
        ...

    @property
    def batches(self) -> int:
        """Batches written to the state topic; `batch_seconds` is their total duration."""
        ...

    @property
    def batch_seconds(self) -> float: ...

    @property
    def foreign_batches(self) -> int:
        """Batches of the state topic that are not those of an active instance."""
        ...

    @property
    def earlier_late_rows(self) -> int:
        """Late rows of the terms of this instance that have ended; the state has those of the present one."""
        ...


class Sources(NamedTuple):
    """The objects that hold the values.

    `queue_length` returns the number of events that wait for the driver, `traffic` the bytes by broker id,
    and `active` whether this controller serves.
    """

    version: str
    state: State
    stats: Counters
    queue_length: Callable[[], int]
    traffic: Callable[[], Mapping[int, Traffic]]
    active: Callable[[], bool]
    relayed: RelayCounters = RelayCounters()
    """Requests that were relayed to brokers."""
    znodes: Znodes = Znodes()
    audited: Mapping[str, int] = NONE
    """Entries of the audit log since the start by action."""
    upstream: UpstreamCounters | None = None
    instances: InstanceNumbers | None = None
    """None without a state topic."""
    progress: Progress | None = None
    """The last measurement of bytes."""
    load: Loads | None = None
    waits: WaitingAges | None = None
    moving_partitions: int = 0
    """Maximum number of moving partitions with gauges of their own."""
    hidden: tuple[str, ...] = ()
    """Prefixes of the names that are not exported."""


class Scrape(NamedTuple):
    """The sources during one scrape, with the values that several metrics share."""

    sources: Sources
    state: State
    stats: Counters
    counts: Counts
    traffic: Mapping[int, Traffic]
