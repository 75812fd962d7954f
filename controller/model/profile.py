"""The differences between the kinds of clusters, as the controller sees them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClusterProfile:
    """A kind of cluster. The composition root chooses one; it never changes while the controller runs."""

    has_upstream: bool = False
    """A running Kafka carries out the steps and owns topics, partitions and brokers; its health counts."""
    grows_while_moving: bool = True
    """A topic that moves may get more partitions. Kafka's ZooKeeper controller refuses that."""
    drops_when_back: bool = True
    """A broker that was down drops its replicas of deleted topics when it is back. Where nothing makes it do
    so, a deletion waits for the answers of all brokers: a topic of that name would get the old logs."""
    measures_sizes: bool = False
    """The sizes of replicas are measured, soon after the start."""
    keeps_topics: bool = True
    """Topics, or at least their ids, are records of reassignd: a topic that was made anew meanwhile is noticed."""


EMBEDDED = ClusterProfile()
GATEWAY = ClusterProfile(has_upstream=True, measures_sizes=True)
ZOOKEEPER = ClusterProfile(
    grows_while_moving=False, drops_when_back=False, measures_sizes=True, keeps_topics=False
)
