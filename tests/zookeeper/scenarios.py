"""What is shown on more than one release of brokers."""

from tests.zookeeper.load import Load
from tests.zookeeper.site import Site


def cancel_half_way(site: Site) -> None:
    """A throttled move is cancelled under load: partial copies go, and the order before is the order after."""
    topic = site.topic([[1, 2, 3]])
    site.fill(topic, 1)
    site.hold(topic)
    with Load(site.cluster.bootstrap, topic, 1) as load:
        site.alter(topic, {0: [3, 4, 2]})
        site.wait_for_hosts(topic, 0, {1, 2, 3, 4})
        site.alter(topic, {0: None})
        site.wait_until_idle()
        site.release()
    load.check()
    site.wait_for_replicas(topic, [[1, 2, 3]])
    site.wait_for_hosts(topic, 0, {1, 2, 3})
