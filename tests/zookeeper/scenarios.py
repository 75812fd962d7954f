"""What is shown on more than one release of brokers."""

from collections.abc import Mapping, Sequence

from tests.zookeeper.load import Load
from tests.zookeeper.site import Site, wait_for

REASSIGN = "/admin/reassign_partitions"
CANCEL = "/admin/cancel_reassignment_in_progress"


def submit(site: Site, topic: str, targets: Mapping[int, Sequence[int]]) -> None:
    """Orders targets by znode, as tools before Kafka 3 did."""
    rows = [{"topic": topic, "partition": number, "replicas": list(to)} for number, to in targets.items()]
    site.put_znode(REASSIGN, {"version": 1, "partitions": rows})


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


def move_by_znode(site: Site) -> None:
    """A plan in ZooKeeper is carried out under load, and gone at the end."""
    topic = site.topic([[1, 2], [2, 1]])
    with Load(site.cluster.bootstrap, topic, 2) as load:
        submit(site, topic, {0: [3, 4], 1: [4, 1]})
        wait_for(lambda: site.znode(REASSIGN), None)
    load.check()
    site.wait_for_replicas(topic, [[3, 4], [4, 1]])
    site.wait_for_hosts(topic, 0, {3, 4})
    site.wait_for_hosts(topic, 1, {1, 4})


def cancel_by_znode(site: Site) -> None:
    """The cancel znode takes a throttled plan back under load; both znodes go."""
    topic = site.topic([[1, 2, 3]])
    site.fill(topic, 1)
    site.hold(topic)
    with Load(site.cluster.bootstrap, topic, 1) as load:
        submit(site, topic, {0: [3, 4, 2]})
        site.wait_for_hosts(topic, 0, {1, 2, 3, 4})
        site.put_znode(CANCEL, b"")
        site.wait_for_replicas(topic, [[1, 2, 3]])
        site.release()
    load.check()
    site.wait_for_hosts(topic, 0, {1, 2, 3})
    wait_for(lambda: site.has_znode(REASSIGN) or site.has_znode(CANCEL), False)
