"""Requests for all APIs that only read, and the data that they read."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import ScramMechanism, UserScramCredentialUpsertion
from kafka.structs import OffsetAndMetadata, TopicPartition

from controller.model.cluster import ResourceType
from protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest, TopicRequest
from tests.clients.java_programs import JavaAdmin
from tests.upstream.kafka_schemas import message
from tools.kafka_cluster import admin_client
from tools.raw_connection import RawConnection

TOPIC, GROUP, TRANSACTION, USER = "read-by-many", "group-of-many", "transaction-of-many", "user-of-many"
VALUE, OFFSET_METADATA = b"a record of many", "an offset of many"
PARTITIONS = range(4)

LATEST = -1
ANY = 1
BROKER_LOGGER, CLIENT_METRICS, GROUP_CONFIG = 8, 16, 32
CONTROLLERS = 2
OF_TRANSACTIONS = 1

NOT_READ_APIS = {
    *(0, 8, 11, 12, 13, 14, 17, 19, 20, 21, 22, 24, 25, 26, 27, 28, 30, 31, 33, 34, 36, 37, 38, 39, 40, 42),
    *(43, 44, 45, 47, 49, 51, 57, 64, 68, 71, 72, 76, 80, 81, 83, 84, 85, 86, 87, 88, 91, 92),
}
"""The other APIs: writes, logins, and requests between brokers."""


class ReadRequest(NamedTuple):
    """A request that only reads. The response of at least one broker includes `contains`."""

    name: str
    values: dict[str, Any]
    contains: bytes = b""
    since: int = 0
    """The first version that supports these values."""

    @property
    def key(self) -> int:
        return message(self.name).api_key or 0


def populate(bootstrap: str, admin: JavaAdmin) -> bytes:
    """Create the topic, group, transaction and user that the requests read. Returns the id of TOPIC."""
    admin.do("create", topic=TOPIC, assignment=[[1, 2], [2, 3], [3, 4], [4, 1]])
    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=TRANSACTION)
    producer.init_transactions()
    producer.begin_transaction()
    for partition in PARTITIONS:
        producer.send(TOPIC, value=VALUE, partition=partition)
    producer.commit_transaction()
    producer.close()
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=GROUP, enable_auto_commit=False)
    consumer.assign([TopicPartition(TOPIC, number) for number in PARTITIONS])
    consumer.commit(
        {partition: OffsetAndMetadata(1, OFFSET_METADATA, -1) for partition in consumer.assignment()}
    )
    consumer.close()
    with admin_client(bootstrap) as client:
        user = UserScramCredentialUpsertion(USER, ScramMechanism.SCRAM_SHA_256, "secret", iterations=4096)
        client.alter_user_scram_credentials([user])
    connection = RawConnection(bootstrap)
    described = connection.ask(DescribeTopicPartitionsRequest([TopicRequest(TOPIC)]), 0)
    connection.close()
    topic_id: bytes = described.topics[0].topic_id
    return topic_id


def reads(topic_id: bytes) -> list[ReadRequest]:
    """Return the requests for all APIs that only read."""
    return [*_of_the_cluster(), *_of_topics(topic_id), *_of_groups(topic_id), *_of_configs()]


def _of_the_cluster() -> Sequence[ReadRequest]:
    software = {"client_software_name": "reader", "client_software_version": "1"}
    options = {"include_cluster_authorized_operations": True, "include_fenced_brokers": True}
    acls = {"resource_type_filter": ANY, "pattern_type_filter": ANY, "operation": ANY, "permission_type": ANY}
    anyone = {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
    quotas = {"components": [{"entity_type": "client-id", "match_type": 2, "match": None}]}
    quorum = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
    return [
        ReadRequest("ApiVersions", software),
        ReadRequest("DescribeCluster", options),
        ReadRequest("DescribeCluster", {"endpoint_type": CONTROLLERS}, since=1),
        ReadRequest("DescribeAcls", acls | anyone),
        ReadRequest("DescribeClientQuotas", quotas),
        ReadRequest("DescribeDelegationToken", {}),
        ReadRequest("DescribeQuorum", {"topics": quorum}, b"__cluster_metadata"),
        ReadRequest("DescribeUserScramCredentials", {"users": None}, USER.encode()),
        ReadRequest("ListPartitionReassignments", {"timeout_ms": 10_000, "topics": None}),
    ]


def _of_topics(topic_id: bytes) -> Sequence[ReadRequest]:
    name = TOPIC.encode()
    rights = dict.fromkeys(
        ("include_cluster_authorized_operations", "include_topic_authorized_operations"), True
    )
    fetched = [{"partition": number, "partition_max_bytes": 1 << 20} for number in PARTITIONS]
    fetch = {"max_bytes": 1 << 20, "topics": [{"topic": TOPIC, "topic_id": topic_id, "partitions": fetched}]}
    offsets = [{"partition_index": number, "timestamp": LATEST} for number in PARTITIONS]
    epochs = [{"partition": number, "leader_epoch": 0} for number in PARTITIONS]
    indexes = {"name": TOPIC, "partition_indexes": list(PARTITIONS)}
    return [
        ReadRequest("Metadata", {"topics": None, **rights}, name, since=1),
        ReadRequest("Metadata", {"topics": [{"name": TOPIC}], "allow_auto_topic_creation": False}, name),
        ReadRequest("DescribeTopicPartitions", {"topics": [{"name": TOPIC}]}, name),
        ReadRequest("Fetch", fetch, VALUE),
        ReadRequest(
            "ListOffsets", {"replica_id": -1, "topics": [{"name": TOPIC, "partitions": offsets}]}, name
        ),
        ReadRequest(
            "OffsetForLeaderEpoch",
            {"replica_id": -1, "topics": [{"topic": TOPIC, "partitions": epochs}]},
            name,
        ),
        ReadRequest("DescribeLogDirs", {"topics": None}, name),
        ReadRequest("DescribeProducers", {"topics": [indexes]}, name),
        ReadRequest("DescribeTransactions", {"transactional_ids": [TRANSACTION]}, b"CompleteCommit"),
        ReadRequest("ListTransactions", {}, TRANSACTION.encode()),
    ]


def _of_groups(topic_id: bytes) -> Sequence[ReadRequest]:
    group, metadata = GROUP.encode(), OFFSET_METADATA.encode()
    topic = {"name": TOPIC, "partition_indexes": list(PARTITIONS)}
    groups = [{"group_id": GROUP, "topics": [{**topic, "topic_id": topic_id}]}]
    transaction = {"key": TRANSACTION, "key_type": OF_TRANSACTIONS, "coordinator_keys": [TRANSACTION]}
    described = {"group_ids": [GROUP], "include_authorized_operations": True}
    return [
        ReadRequest("FindCoordinator", {"key": GROUP, "coordinator_keys": [GROUP, "nobody"]}),
        ReadRequest("FindCoordinator", transaction, since=1),
        ReadRequest("ListGroups", {}, group),
        ReadRequest("DescribeGroups", {"groups": [GROUP], "include_authorized_operations": True}, group),
        ReadRequest("OffsetFetch", {"group_id": GROUP, "topics": [topic], "groups": groups}, metadata),
        ReadRequest("ConsumerGroupDescribe", described, group),
        ReadRequest("ShareGroupDescribe", described, group),
        ReadRequest("StreamsGroupDescribe", described, group),
        ReadRequest("DescribeShareGroupOffsets", {"groups": [{"group_id": GROUP, "topics": None}]}, group),
    ]


def _of_configs() -> Sequence[ReadRequest]:
    def described(kind: int, name: str, contains: bytes = b"") -> ReadRequest:
        resource = {"resource_type": kind, "resource_name": name, "configuration_keys": None}
        flags = {"include_synonyms": True, "include_documentation": True}
        return ReadRequest("DescribeConfigs", {"resources": [resource], **flags}, contains)

    return [
        described(ResourceType.TOPIC, TOPIC, b"retention.ms"),
        described(ResourceType.BROKER, "2", b"log.cleaner.threads"),
        described(ResourceType.BROKER, ""),
        described(BROKER_LOGGER, "2", b"kafka"),
        described(CLIENT_METRICS, "nobody"),
        described(GROUP_CONFIG, GROUP, b"consumer.session.timeout.ms"),
        ReadRequest("ListConfigResources", {"resource_types": [ResourceType.TOPIC, ResourceType.BROKER]}),
    ]
