"""Clients are served whether reassignd or the brokers start first."""

from collections.abc import Iterator

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from tests.zookeeper.site import Site, wait_for
from tools.zookeeper_cluster import ZookeeperCluster


def start_brokers(cluster: ZookeeperCluster) -> None:
    for broker in cluster.brokers:
        cluster.start_broker(broker)
    for broker in cluster.brokers:
        cluster.wait_for_broker(broker)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Three brokers of Kafka 3.9 that start after reassignd."""
    cluster = ZookeeperCluster(tmp_path_factory.mktemp("starts"), 3)
    site = Site(cluster)
    cluster.start_zookeeper()
    try:
        site.commander.start()
        start_brokers(cluster)
        with site:
            yield site
    finally:
        cluster.stop()


def listed_topics(site: Site) -> set[str]:
    """Return the topics that a client sees with reassignd's listener as the bootstrap address."""
    try:
        admin = KafkaAdminClient(bootstrap_servers=site.commander.address)
        try:
            return set(admin.list_topics())
        finally:
            admin.close()
    except KafkaError:
        return set()


def use_as_bootstrap(site: Site, name: str) -> None:
    """Create, write and read a topic with reassignd's listener as the bootstrap address."""
    site.create_topic([[1, 2], [2, 3]], name)
    wait_for(lambda: name in listed_topics(site), True)
    producer = KafkaProducer(bootstrap_servers=site.commander.address, acks="all")
    assert producer.send(name, b"x", partition=0).get(30).offset == 0
    producer.close()
    consumer = KafkaConsumer(bootstrap_servers=site.commander.address, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(name, 0)])
    assert next(consumer).value == b"x"
    consumer.close()


def test_clients_are_served_if_the_brokers_start_first(site: Site) -> None:
    use_as_bootstrap(site, "brokers-first")


def test_clients_are_served_if_reassignd_starts_first(started: Site) -> None:
    use_as_bootstrap(started, "first")


def test_clients_are_served_after_a_rolling_restart(started: Site) -> None:
    for broker in started.cluster.brokers:
        started.cluster.stop_broker(broker)
        started.cluster.start_broker(broker)
        started.cluster.wait_for_broker(broker)
    started.wait_for_controller(1000)
    use_as_bootstrap(started, "second")


def test_clients_are_served_after_all_brokers_restart_at_once(started: Site) -> None:
    for broker in started.cluster.brokers:
        started.cluster.kill_broker(broker)
    # A broker does not start while its old registration exists.
    wait_for(lambda: started.registered_brokers() & set(started.cluster.brokers), set())
    start_brokers(started.cluster)
    started.wait_for_controller(1000)
    use_as_bootstrap(started, "third")
