"""One row of the table of metrics, the forms that rows have in common, and Kafka's names of APIs."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from common.error_codes import ErrorCode
from protocol.apis import OTHER_API, ApiKey
from server.metrics.sources import Scrape


class Summary(NamedTuple):
    """The number of observations and their total."""

    observations: int
    total: float


Samples = Iterable[tuple[tuple[str, ...], float | Summary]]
"""Label values in the order of the metric's labels, and the value."""


class Metric(NamedTuple):
    """One row of the table.

    `kind` is the Prometheus type; values of summaries are `Summary`, others are numbers.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    read: Callable[[Scrape], Samples]
    doc: str


def gauge(name: str, read: Callable[[Scrape], float], doc: str) -> Metric:
    """Return a gauge without labels."""
    return Metric(name, "gauge", (), lambda scrape: [((), read(scrape))], doc)


def optional_gauge(name: str, read: Callable[[Scrape], float | None], doc: str) -> Metric:
    """Return a gauge without labels that has no sample while its value is None."""

    def samples(scrape: Scrape) -> Samples:
        value = read(scrape)
        return [] if value is None else [((), value)]

    return Metric(name, "gauge", (), samples, doc)


def counter(name: str, read: Callable[[Scrape], float], doc: str) -> Metric:
    """Return a counter without labels."""
    return Metric(name, "counter", (), lambda scrape: [((), read(scrape))], doc)


def one_label(values: Mapping[str, float] | Mapping[int, float]) -> Samples:
    """Return a sample for each value; its key is the only label."""
    return [((str(label),), value) for label, value in values.items()]


def exposed_name(metric: Metric) -> str:
    """Return the metric's name in a scrape."""
    return metric.name + {"counter": "_total", "info": "_info"}.get(metric.kind, "")


def error_name(code: int) -> str:
    """Return Kafka's name of the error; the number if it is unknown."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)


OTHER_NAMES: Final = {
    8: "OffsetCommit",
    11: "JoinGroup",
    12: "Heartbeat",
    13: "LeaveGroup",
    14: "SyncGroup",
    15: "DescribeGroups",
    21: "DeleteRecords",
    23: "OffsetForLeaderEpoch",
    25: "AddOffsetsToTxn",
    27: "WriteTxnMarkers",
    28: "TxnOffsetCommit",
    38: "CreateDelegationToken",
    39: "RenewDelegationToken",
    40: "ExpireDelegationToken",
    41: "DescribeDelegationToken",
    42: "DeleteGroups",
    47: "OffsetDelete",
    49: "AlterClientQuotas",
    55: "DescribeQuorum",
    57: "UpdateFeatures",
    61: "DescribeProducers",
    64: "UnregisterBroker",
    65: "DescribeTransactions",
    68: "ConsumerGroupHeartbeat",
    69: "ConsumerGroupDescribe",
    74: "ListConfigResources",
    76: "ShareGroupHeartbeat",
    77: "ShareGroupDescribe",
    78: "ShareFetch",
    79: "ShareAcknowledge",
    80: "AddRaftVoter",
    81: "RemoveRaftVoter",
    83: "InitializeShareGroupState",
    84: "ReadShareGroupState",
    85: "WriteShareGroupState",
    86: "DeleteShareGroupState",
    87: "ReadShareGroupStateSummary",
    88: "StreamsGroupHeartbeat",
    89: "StreamsGroupDescribe",
    90: "DescribeShareGroupOffsets",
    91: "AlterShareGroupOffsets",
    92: "DeleteShareGroupOffsets",
    OTHER_API: "other",
}
"""Those that `ApiKey` does not have (Kafka: ApiKeys)."""


def api_name(key: int) -> str:
    """Return Kafka's name of the API, such as `AlterPartitionReassignments`; the number if it is unknown."""
    try:
        return ApiKey(key).name.title().replace("_", "")
    except ValueError:
        return OTHER_NAMES.get(key, str(key))
