"""`GET /partition_load`: what each partition carries, the most first."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from heapq import nlargest
from operator import neg
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct, field
from starlette.responses import Response

from controller.model.cluster import Partition
from controller.model.load import LoadRow, Loads, Rates
from server.cruisecontrol.shared.access import ClientRole
from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.capacities import KILOBYTE, MEGABYTE
from server.cruisecontrol.shared.documents import JsonList, document
from server.cruisecontrol.shared.errors import bad_parameter
from server.cruisecontrol.shared.loads import NOT_KNOWN, cpu_weight
from server.cruisecontrol.shared.optimization import check_brokers
from server.cruisecontrol.shared.parameters import Brokers, Parameters
from server.cruisecontrol.shared.patterns import chosen_topics
from server.progress.rates import Sizes

NEWEST = "No effect: the rates are those of the last minutes, or of the last days."
SORTED_AT_ONCE = 10_000
"""Entries up to which the first ones are selected without sorting the rest."""


class Resource(Enum):
    """By what partitions are in descending order."""

    DISK = "disk"
    CPU = "cpu"
    IN = "nw_in"
    OUT = "nw_out"


RESOURCES = {each.value: each for each in Resource} | {
    "networkinbound": Resource.IN,
    "networkoutbound": Resource.OUT,
}


class PartitionLoadParameters(Parameters, kw_only=True):
    """Which partitions are listed."""

    resource: Annotated[str, Meta(description="The order: `disk`, `cpu`, `nw_in` or `nw_out`.")] = "disk"
    entries: Annotated[int, Meta(ge=1, description="Most partitions that are listed.")] = 2**31 - 1
    topic: Annotated[str, Meta(description="Only topics that match this regular expression.")] = ""
    partition: Annotated[
        str, Meta(description="Only partitions with this number, or in this range: `0-9`.")
    ] = ""
    brokerid: Annotated[Brokers, Meta(description="Only partitions with a replica on these brokers.")] = (
        field(default_factory=list)
    )
    max_load: Annotated[bool, Meta(description="Rates of the busy hour of the day.")] = False
    avg_load: Annotated[bool, Meta(description="Rates of a mean hour of the day.")] = False
    start: Annotated[int, Meta(description=NEWEST)] = -1
    end: Annotated[int, Meta(description=NEWEST)] = -1
    min_valid_partition_ratio: Annotated[float, Meta(description="No effect: what is not known is -1.")] = 0.0
    allow_capacity_estimation: Annotated[bool, Meta(description="No effect: nothing is estimated.")] = True


class PartitionLoad(Struct):
    """A partition: percent of a CPU, KB/s and MB of its leader. What is not known is `NOT_KNOWN`."""

    topic: str
    partition: int
    leader: int
    followers: list[int]
    cpu: float
    bytes_in: float = field(name="networkInbound")
    bytes_out: float = field(name="networkOutbound")
    disk: float
    messages_in: float = field(name="msg_in", default=NOT_KNOWN)


async def partition_load(call: CruiseControlCall, given: PartitionLoadParameters) -> Response:
    """List partitions, those that carry the most first."""
    selection = _selection(call, given)
    topics = [call.state.cluster.partitions.get(each, ()) for each in await chosen_topics(call, given.topic)]
    rows = await call.call.off_loop.run(selection.rows, topics, given.entries)
    return document(b"{", [JsonList("records", map(selection.row, rows))], b',"version":1}')


class _Selection(NamedTuple):
    """Which partitions are listed, and what is known of them."""

    chosen: Callable[[Partition], bool]
    resource: Resource
    at: int
    """The place of the rate of bytes in among `Rates`; that of bytes out follows."""
    sizes: Sizes
    loads: Loads | None
    cpu_per_rate: Mapping[int, float]
    """By broker: the percent of its CPU that a weighted byte per second takes."""

    def rows(self, topics: Sequence[Sequence[Partition]], entries: int) -> Sequence[Partition]:
        """Return the partitions in their order."""
        chosen = (partition for topic in topics for partition in list(topic) if self.chosen(partition))
        if entries <= SORTED_AT_ONCE:
            return nlargest(entries, chosen, key=self._weight)
        rows = sorted(chosen, key=lambda partition: neg(self._weight(partition)))
        return rows if len(rows) <= entries else rows[:entries]

    def row(self, partition: Partition) -> PartitionLoad:
        """Return the partition as Cruise Control shows it."""
        bytes_in, bytes_out = self._rates(partition)
        size = self.sizes.size(partition.key)
        return PartitionLoad(
            partition.topic,
            partition.partition,
            partition.leader,
            [broker for broker in partition.current if broker != partition.leader],
            self._cpu(partition, bytes_in, bytes_out),
            NOT_KNOWN if bytes_in is None else bytes_in / KILOBYTE,
            NOT_KNOWN if bytes_out is None else bytes_out / KILOBYTE,
            NOT_KNOWN if size is None else size / MEGABYTE,
        )

    def _weight(self, partition: Partition) -> float:
        if self.resource is Resource.DISK:
            size = self.sizes.size(partition.key)
            return NOT_KNOWN if size is None else size
        bytes_in, bytes_out = self._rates(partition)
        if self.resource is Resource.CPU:
            return self._cpu(partition, bytes_in, bytes_out)
        rate = bytes_in if self.resource is Resource.IN else bytes_out
        return NOT_KNOWN if rate is None else rate

    def _rates(self, partition: Partition) -> tuple[float | None, float | None]:
        rates = None if self.loads is None else self.loads.rates(partition.topic, partition.partition)
        return (None, None) if rates is None else (rates[self.at], rates[self.at + 1])

    def _cpu(self, partition: Partition, bytes_in: float | None, bytes_out: float | None) -> float:
        each = self.cpu_per_rate.get(partition.leader)
        if each is None or bytes_in is None:
            return NOT_KNOWN
        return each * cpu_weight(bytes_in, bytes_out or 0.0)


def _selection(call: CruiseControlCall, given: PartitionLoadParameters) -> _Selection:
    resource = RESOURCES.get(given.resource.lower())
    if resource is None:
        raise bad_parameter(f"There is no resource '{given.resource[:80]}'; known: {', '.join(RESOURCES)}.")
    if given.max_load and given.avg_load:
        raise bad_parameter("max_load and avg_load exclude each other.")
    check_brokers(call.state, given.brokerid)
    name = Rates._fields.index("busy_in" if given.max_load else "mean_in" if given.avg_load else "bytes_in")
    services = call.context.services
    brokers = () if services.load is None else services.load.by_broker()
    return _Selection(
        _filter(given), resource, name, services.sizes, services.load, dict(_cpu_per_rate(brokers))
    )


def _filter(given: PartitionLoadParameters) -> Callable[[Partition], bool]:
    numbers, brokers = _numbers(given.partition), {*given.brokerid}

    def chosen(partition: Partition) -> bool:
        return partition.partition in numbers and (not brokers or not brokers.isdisjoint(partition.current))

    return chosen


def _numbers(text: str) -> range:
    if not text:
        return range(2**31)
    first, dash, last = text.partition("-")
    ends = [first, last if dash else first]
    if not all(each.isascii() and each.isdecimal() and len(each) < 11 for each in ends):
        raise bad_parameter(f"partition is a number or a range such as 0-9, not '{text[:80]}'.")
    return range(int(ends[0]), int(ends[1]) + 1)


def _cpu_per_rate(brokers: Sequence[LoadRow]) -> Iterator[tuple[int, float]]:
    for row in brokers:
        led_in, led_out, followed = row.rates.bytes_in, row.rates.bytes_out, row.replication_in
        weight = cpu_weight(led_in or 0.0, led_out or 0.0, followed or 0.0)
        if row.broker is not None and row.cpu is not None and weight:
            yield row.broker, 100.0 * row.cpu / weight


ENDPOINTS = (
    Endpoint(
        "GET",
        "partition_load",
        "List what partitions carry, the most first.",
        PartitionLoadParameters,
        partition_load,
        role=ClientRole.USER,
    ),
)
