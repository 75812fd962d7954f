"""The names that exporters give to Kafka's metrics, and the queries for them.

Each exporter of JMX names the same beans by rules of its own. Names were found in Strimzi's rules, in MSK's
open monitoring (the exporter without rules), in the exporter's option `lowercaseOutputName`, and in
Confluent's jmx-monitoring-stacks.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

MINUTES = 5
"""Time over which rates are means."""


class Query(NamedTuple):
    """A metric, and the query for a figure of it."""

    metric: str
    text: str


class Style(NamedTuple):
    """The names of one kind of exporter, for bytes by broker and topic."""

    bytes_out: Query
    bytes_in: Query


def _counter(metric: str) -> Query:
    return Query(metric, f'rate({metric}{{topic!=""}}[{MINUTES}m])')


def _rate(metric: str, name: str) -> Query:
    return Query(metric, f'avg_over_time({metric}{{name="{name}",topic!=""}}[{MINUTES}m])')


def _gauge(metric: str) -> Query:
    return Query(metric, f"avg_over_time({metric}[{MINUTES}m])")


_LOWER = "kafka_server_brokertopicmetrics"
_PLAIN = "kafka_server_BrokerTopicMetrics_OneMinuteRate"
_IDLE = "node_cpu_seconds_total"

STYLES = (
    Style(_counter(f"{_LOWER}_bytesout_total"), _counter(f"{_LOWER}_bytesin_total")),
    Style(_rate(_PLAIN, "BytesOutPerSec"), _rate(_PLAIN, "BytesInPerSec")),
    Style(
        _rate(f"{_LOWER}_oneminuterate", "BytesOutPerSec"), _rate(f"{_LOWER}_oneminuterate", "BytesInPerSec")
    ),
    Style(_counter(f"{_LOWER}_bytesoutpersec"), _counter(f"{_LOWER}_bytesinpersec")),
)
"""Of a broker with several of them, the first one counts."""

CPU_QUERIES = (
    Query(_IDLE, f'1 - avg without (cpu, mode) (rate({_IDLE}{{mode="idle"}}[{MINUTES}m]))'),
    *(
        _gauge(f"java_lang_{bean}_{name}")
        for bean, names in {
            "OperatingSystem": ("CpuLoad", "SystemCpuLoad"),
            "operatingsystem": ("cpuload", "systemcpuload"),
        }.items()
        for name in names
    ),
)
"""The fraction of a host's CPU that is in use: of the node exporter, and of the JVM's bean."""


def names_query(queries: Sequence[Query]) -> str:
    """Return a query that tells which of these metrics there are."""
    names = "|".join(sorted({each.metric for each in queries}))
    return f'count by (__name__) ({{__name__=~"{names}"}})'


def present(queries: Sequence[Query], names: Collection[str]) -> list[Query]:
    """Return the queries of these metrics."""
    return [each for each in queries if each.metric in names]
