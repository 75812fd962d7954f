"""The creation of the audit topic, and batches without a producer."""

from backends.audit_topic.topic import append_entries, audit_topic, open_audit_topic
from protocol.messages.create_topics_request import CreateTopicsRequest
from tests.backends.state_topic.test_kafka_log import Cluster as Brokers
from tests.backends.state_topic.test_topic import Cluster


def test_the_name_follows_from_that_of_the_state_topic() -> None:
    assert audit_topic("__reassignd_state") == "__reassignd_state_audit"


async def test_a_new_topic_deletes_entries_by_age() -> None:
    cluster = Cluster(exists=False)
    await open_audit_topic(cluster, "state", 3, 1000)
    (request,) = cluster.requests(CreateTopicsRequest)
    (topic,) = request.topics
    configs = {config.name: config.value for config in topic.configs}
    assert (topic.name, topic.replication_factor) == ("state_audit", 3)
    assert (configs["cleanup.policy"], configs["retention.ms"]) == ("delete", "1000")
    assert configs["min.insync.replicas"] == "2"


async def test_an_existing_topic_is_used() -> None:
    cluster = Cluster()
    await open_audit_topic(cluster, "state", 3, 1000)
    assert not cluster.requests(CreateTopicsRequest)


async def test_entries_have_no_producer() -> None:
    brokers = Brokers()
    await append_entries(brokers.log(), [])
    assert brokers.asked
