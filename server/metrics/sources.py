"""Where the metrics' numbers come from."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from controller.state.state import State
from controller.views.reassignments import Counts
from server.metrics.latency import RequestLatency
from server.metrics.stats import Counters
from server.relay.counters import RelayCounters

NONE: Mapping[str, int] = MappingProxyType({})


class Znodes(NamedTuple):
    """What is counted of a ZooKeeper: refused documents and rows by kind of znode, and terms by event."""

    documents: Mapping[str, int] = NONE
    rows: Mapping[str, int] = NONE
    terms: Mapping[str, int] = NONE


class Traffic(NamedTuple):
    """Bytes that reassignments moved into and out of one broker since it started."""

    bytes_in: float
    bytes_out: float


class Sources(NamedTuple):
    """Where numbers come from. `traffic` is by broker id; `active` says whether this controller serves."""

    version: str
    state: State
    stats: Counters
    latency: RequestLatency
    traffic: Callable[[], Mapping[int, Traffic]]
    active: Callable[[], bool]
    relayed: RelayCounters = RelayCounters()
    """What went through the gateway, where there is one."""
    znodes: Znodes = Znodes()


class Reading(NamedTuple):
    """The sources at the time of one scrape; what several metrics need is worked out once."""

    sources: Sources
    state: State
    stats: Counters
    counts: Counts
    traffic: Mapping[int, Traffic]
