"""The names of metrics in PromQL expressions."""

import re

from server.metrics.exposition import METRICS
from server.metrics.metric import Metric, exposed_name
from tools.dashboard_panels import Query

PROCESS = {"process_resident_memory_bytes", "process_cpu_seconds_total"}
"""Those of the Prometheus client that are used."""


def sample_names(metric: Metric) -> set[str]:
    """Return the names that a scrape has for the metric."""
    if metric.kind == "summary":
        return {f"{metric.name}_sum", f"{metric.name}_count"}
    return {exposed_name(metric)}


KNOWN = PROCESS.union(*map(sample_names, METRICS))


def unknown_metrics(expression: str) -> set[str]:
    """Return the names in the expression that no scrape has. Names of recording rules have colons."""
    names = re.findall(r"(?<![\w:])(?:reassignd|kafka|process)_\w+(?![\w:])", expression)
    return set(names) - KNOWN


def as_sent(query: Query) -> str:
    """Return the query as Grafana sends it for all processes, with a rate of a minute."""
    values = {"$job": ".*", "$instance": ".*", "$__rate_interval": "1m"}
    return re.sub("|".join(map(re.escape, values)), lambda found: values[found[0]], query.text)
