"""A cluster of real brokers with reassignd as the controller: its topics, configs and znodes."""

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Self

from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.errors import KafkaConnectionError, KafkaError
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from backends.client.channel import connect
from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.metadata_response import MetadataResponse
from tests.zookeeper.load import FILLER
from tools.zookeeper_cluster import ZookeeperCluster
from tools.zookeeper_controller import ControllerProcess

PATIENCE_SECONDS = 60

_topic_numbers = itertools.count(1)


def wait_for(probe: Callable[[], object], expected: object, seconds: float = PATIENCE_SECONDS) -> None:
    """Call the probe until it returns the expected value. Fails after `seconds` and shows the last value.

    Errors of the client count as values: requests fail while the controller or a leader changes.
    """
    deadline = time.monotonic() + seconds
    while (value := _result(probe)) != expected and time.monotonic() < deadline:
        time.sleep(0.1)  # The cluster runs in other processes, so the test must poll.
    assert value == expected


def _result(probe: Callable[[], object]) -> object:
    try:
        return probe()
    except (KafkaError, RuntimeError) as error:  # kafka-python raises RuntimeError if it finds no controller
        return error


class Site:
    """The cluster, its reassignd process, and kafka-python's admin client."""

    def __init__(self, cluster: ZookeeperCluster, **overrides: str) -> None:
        self.cluster = cluster
        self.commander = ControllerProcess(cluster, 1000, **overrides)
        self.admin: KafkaAdminClient
        self.held = False
        """Reassignments are held in flight by `hold`."""
        self._exit_stack = ExitStack()

    def __enter__(self) -> Self:
        if not self.commander.runs:
            self.commander.start()
        self.wait_for_controller(self.commander.node_id)
        return self

    def __exit__(self, *_: object) -> None:
        self._exit_stack.close()
        if self.commander.runs:
            assert self.commander.stop() == 0

    def wait_for_controller(self, expected: int) -> None:
        """Wait until every broker reports and lists this controller, then connect the admin client."""
        for broker in self.cluster.brokers:
            wait_for(partial(_named_controller, self.cluster.port(broker)), (expected, True))
        self._connect()
        wait_for(lambda: self.reassignments() is not None, True)

    def _connect(self) -> None:
        """Replace the admin client: kafka-python keeps sending requests to the previous controller."""
        self._exit_stack.close()
        self.admin = KafkaAdminClient(bootstrap_servers=self.cluster.bootstrap)
        self._exit_stack.callback(self.admin.close)

    @property
    def folder(self) -> Path:
        """The folder with the files of the cluster."""
        return self.cluster.folder

    def create_topic(self, assignment: Sequence[Sequence[int]], name: str = "") -> str:
        """Create a topic with these replicas, wait until all are in sync, and return its name."""
        name = name or f"topic-{next(_topic_numbers)}"
        rows = {number: list(replicas) for number, replicas in enumerate(assignment)}
        self.admin.create_topics([NewTopic(name, replica_assignments=rows)])
        self.wait_for_replicas(name, assignment)
        return name

    def partitions(self, topic: str) -> list[dict[str, Any]]:
        """Return the partitions of a DescribeTopics response: leader_id, replica_nodes, isr_nodes, …."""
        topic_row = self.admin.describe_topics([topic])[0]
        rows: list[dict[str, Any]] = sorted(topic_row["partitions"], key=lambda row: row["partition_index"])
        return rows

    def wait_for_replicas(self, topic: str, expected: Sequence[Sequence[int]]) -> None:
        """Wait until each partition has exactly these replicas, in sync, and one of them leads."""
        rows = [(list(replicas), sorted(replicas), True) for replicas in expected]
        wait_for(
            lambda: [
                (row["replica_nodes"], sorted(row["isr_nodes"]), row["leader_id"] in row["replica_nodes"])
                for row in self.partitions(topic)
            ],
            rows,
        )

    def reassign(self, topic: str, targets: Mapping[int, Sequence[int] | None]) -> None:
        """Reassign partitions of one topic; None cancels. Fails if a partition is refused."""
        self.reassign_topics({topic: targets})

    def reassign_topics(self, topics: Mapping[str, Mapping[int, Sequence[int] | None]]) -> None:
        """Reassign partitions of several topics in one request, which makes one job."""
        rows = {
            TopicPartition(topic, number): replicas and list(replicas)
            for topic, targets in topics.items()
            for number, replicas in targets.items()
        }
        answer = self.admin.alter_partition_reassignments(rows)
        assert all(error is None for error in answer.values()), answer

    def fill(self, topic: str, partitions: int, kilobytes: int = 200) -> None:
        """Write this amount of data to each partition."""
        producer = KafkaProducer(bootstrap_servers=self.cluster.bootstrap, acks="all")
        for partition in range(partitions):
            for _ in range(kilobytes):
                producer.send(topic, FILLER.ljust(1000), partition=partition)
        producer.flush()
        producer.close()

    def set_configs(self, kind: str, name: str, **values: str | None) -> None:
        """Set configs; None deletes one. `__` in a name stands for a dot."""
        changes = {
            key.replace("__", "."): ("DELETE" if value is None else "SET", value)
            for key, value in values.items()
        }
        resource = ConfigResource(ConfigResourceType[kind], name, changes)
        # A broker refuses the request until it knows the controller.
        wait_for(lambda: self._config_errors(resource), [])

    def _config_errors(self, resource: ConfigResource) -> list[str]:
        answers = self.admin.alter_configs([resource], raise_on_unknown=False)
        return [answer for rows in answers.values() for answer in rows.values() if answer != "OK"]

    def hold(self, topic: str) -> None:
        """Throttle the replicas of the topic, so that its reassignments stay in flight."""
        throttled = {
            "leader__replication__throttled__replicas": "*",
            "follower__replication__throttled__replicas": "*",
        }
        self.set_configs("TOPIC", topic, **throttled)
        self.held = True
        self._set_rates("1000")
        time.sleep(1)  # Brokers apply the configs after a notification and do not report when.

    def release(self, rate: str | None = None) -> None:
        """Remove the throttle of `hold`, or set it to this rate in bytes per second."""
        self._set_rates(rate)
        self.held = rate is not None

    def _set_rates(self, value: str | None) -> None:
        rates = {
            "leader__replication__throttled__rate": value,
            "follower__replication__throttled__rate": value,
        }
        for broker in self.cluster.brokers:
            self.set_configs("BROKER", str(broker), **rates)

    def znode(self, path: str) -> Any:
        """Return the JSON of a znode, or None if the znode does not exist."""
        data = self._with_zookeeper(lambda client: _znode_data(client, path))
        return None if data is None else json.loads(data)

    def has_znode(self, path: str) -> bool:
        """Return whether the znode exists."""
        return bool(self._with_zookeeper(lambda client: client.exists(path)))

    def registered_brokers(self) -> set[int]:
        """Return the ids of the znodes below `/brokers/ids`."""
        return set(map(int, self._with_zookeeper(lambda client: client.get_children("/brokers/ids"))))

    def create_znode(self, path: str, value: Any) -> None:
        """Create a znode with JSON or bytes, and its parents."""
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self._with_zookeeper(lambda client: client.create(path, data, makepath=True))

    def set_znode(self, path: str, value: Any) -> None:
        """Overwrite a znode with JSON or bytes."""
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self._with_zookeeper(lambda client: client.set(path, data))

    def remove_znode(self, path: str) -> None:
        """Delete a znode and its descendants, if it exists."""
        self._with_zookeeper(lambda client: client.exists(path) and client.delete(path, recursive=True))

    def _with_zookeeper(self, action: Callable[[KazooClient], Any]) -> Any:
        client = KazooClient(self.cluster.zookeeper)
        client.start()
        try:
            return action(client)
        finally:
            client.stop()
            client.close()

    def reassignments(self) -> dict[str, Any]:
        """Return the ListPartitionReassignments response by `TOPIC-PARTITION`."""
        try:
            listed = self.admin.list_partition_reassignments() or {}
        except (KafkaError, RuntimeError):
            self._connect()
            raise
        return {f"{key.topic}-{key.partition}": row for key, row in listed.items()}

    def wait_until_idle(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until there are no reassignments."""
        wait_for(self.reassignments, {}, seconds)

    def wait_for_hosts(self, topic: str, partition: int, brokers: set[int]) -> None:
        """Wait until exactly these brokers have a log of the partition on disk."""
        wait_for(lambda: self.cluster.hosts(topic, partition), brokers)


def _named_controller(port: int) -> tuple[int, bool]:
    """Return the controller id of a Metadata response, and whether the response lists this node."""
    # kafka-python cannot decode this response of Kafka 2.8.
    response = asyncio.run(_metadata(port))
    return response.controller_id, response.controller_id in [broker.node_id for broker in response.brokers]


async def _metadata(port: int) -> MetadataResponse:
    try:
        channel = await connect("127.0.0.1", port)
        response: MetadataResponse = await channel.request(MetadataRequest(topics=[]), 4)
    except OSError as error:
        raise KafkaConnectionError(str(error)) from error
    channel.close()
    return response


def _znode_data(client: KazooClient, path: str) -> bytes | None:
    try:
        data: bytes | None = client.get(path)[0]
    except NoNodeError:
        return None
    return data
