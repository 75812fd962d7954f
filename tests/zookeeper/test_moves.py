"""Data moves between real brokers, under load: nothing is lost, and nothing is left behind."""

from tests.zookeeper.load import Load
from tests.zookeeper.site import Site


def test_a_move_ordered_by_45_brings_the_data_and_leaves_none_behind(site: Site) -> None:
    topic = site.topic([[1, 2], [2, 1]])
    with Load(site.cluster.bootstrap, topic, 2) as load:
        site.alter(topic, {0: [3, 4], 1: [4, 3]})
        site.wait_until_idle()
    load.check()
    site.wait_for_replicas(topic, [[3, 4], [4, 3]])
    for partition in (0, 1):
        site.wait_for_hosts(topic, partition, {3, 4})
