"""The table of all metrics, from which docs/metrics.md is generated."""

from server.metrics.cluster import CLUSTER_METRICS
from server.metrics.instances import INSTANCE_METRICS
from server.metrics.kafka_names import KAFKA_METRICS
from server.metrics.moves import MOVE_METRICS
from server.metrics.pace import PACE_METRICS
from server.metrics.serving import SERVING_METRICS
from server.metrics.upstream import UPSTREAM_METRICS
from server.metrics.zookeeper import ZOOKEEPER_METRICS

METRICS = (
    *MOVE_METRICS,
    *PACE_METRICS,
    *CLUSTER_METRICS,
    *UPSTREAM_METRICS,
    *SERVING_METRICS,
    *INSTANCE_METRICS,
    *ZOOKEEPER_METRICS,
    *KAFKA_METRICS,
)
