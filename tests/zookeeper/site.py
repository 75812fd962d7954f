"""A cluster of real brokers under reassignd, as its users see it: topics, moves, and data that is counted."""

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
from tools.commander import Commander
from tools.zookeeper_cluster import ZookeeperCluster

PATIENCE_SECONDS = 60

_topic_numbers = itertools.count(1)


def wait_for(probe: Callable[[], object], expected: object, seconds: float = PATIENCE_SECONDS) -> None:
    """Looks until what is expected is seen; fails after a minute with what is seen then.

    While brokers and controllers change, a client may not get an answer.
    """
    deadline = time.monotonic() + seconds
    while (seen := _result(probe)) != expected and time.monotonic() < deadline:
        time.sleep(0.1)  # The others are processes: there is nothing to wait on but their answers.
    assert seen == expected


def _result(probe: Callable[[], object]) -> object:
    try:
        return probe()
    except (KafkaError, RuntimeError) as error:  # the latter where kafka-python finds no controller
        return error


class Site:
    """The cluster, the commander, and an admin client that we did not write."""

    def __init__(self, cluster: ZookeeperCluster, **overrides: str) -> None:
        self.cluster = cluster
        self.commander = Commander(cluster, 1000, **overrides)
        self.admin: KafkaAdminClient
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
        """Returns when every broker names this controller, and lists it; it is asked from then on."""
        for broker in self.cluster.brokers:
            wait_for(partial(_named_controller, self.cluster.port(broker)), (expected, True))
        self._connect()
        wait_for(lambda: self.reassignments() is not None, True)

    def _connect(self) -> None:
        """Anew: kafka-python keeps asking a controller that is gone, and may never learn of one that has come."""
        self._exit_stack.close()
        self.admin = KafkaAdminClient(bootstrap_servers=self.cluster.bootstrap)
        self._exit_stack.callback(self.admin.close)

    @property
    def folder(self) -> Path:
        """Where the cluster keeps its files."""
        return self.cluster.folder

    def create_topic(self, assignment: Sequence[Sequence[int]], name: str = "") -> str:
        """A new topic whose partitions have these replicas; its name."""
        name = name or f"topic-{next(_topic_numbers)}"
        rows = {number: list(replicas) for number, replicas in enumerate(assignment)}
        self.admin.create_topics([NewTopic(name, replica_assignments=rows)])
        self.wait_for_replicas(name, assignment)
        return name

    def partitions(self, topic: str) -> list[dict[str, Any]]:
        """leader_id, replica_nodes and isr_nodes of each partition, as a broker tells them."""
        topic_row = self.admin.describe_topics([topic])[0]
        rows: list[dict[str, Any]] = sorted(topic_row["partitions"], key=lambda row: row["partition_index"])
        return rows

    def wait_for_replicas(self, topic: str, expected: Sequence[Sequence[int]]) -> None:
        """Returns when each partition has these replicas, all of them in sync, and a leader among them."""
        rows = [(list(replicas), sorted(replicas), True) for replicas in expected]
        wait_for(
            lambda: [
                (row["replica_nodes"], sorted(row["isr_nodes"]), row["leader_id"] in row["replica_nodes"])
                for row in self.partitions(topic)
            ],
            rows,
        )

    def reassign(self, topic: str, targets: Mapping[int, Sequence[int] | None]) -> None:
        """Orders targets, None to cancel; none is refused."""
        self.reassign_topics({topic: targets})

    def reassign_topics(self, topics: Mapping[str, Mapping[int, Sequence[int] | None]]) -> None:
        """The same for several topics in one request, which is one job."""
        rows = {
            TopicPartition(topic, number): replicas and list(replicas)
            for topic, targets in topics.items()
            for number, replicas in targets.items()
        }
        answer = self.admin.alter_partition_reassignments(rows)
        assert all(error is None for error in answer.values()), answer

    def fill(self, topic: str, partitions: int, kilobytes: int = 200) -> None:
        """Gives each partition so much data."""
        producer = KafkaProducer(bootstrap_servers=self.cluster.bootstrap, acks="all")
        for partition in range(partitions):
            for _ in range(kilobytes):
                producer.send(topic, FILLER.ljust(1000), partition=partition)
        producer.flush()
        producer.close()

    def set_configs(self, kind: str, name: str, **values: str | None) -> None:
        """Sets configs, None to delete; `__` stands for dots."""
        changes = {
            key.replace("__", "."): ("DELETE" if value is None else "SET", value)
            for key, value in values.items()
        }
        resource = ConfigResource(ConfigResourceType[kind], name, changes)
        # A broker that does not know yet who the controller is refuses.
        wait_for(lambda: self._config_errors(resource), [])

    def _config_errors(self, resource: ConfigResource) -> list[str]:
        answers = self.admin.alter_configs([resource], raise_on_unknown=False)
        return [answer for rows in answers.values() for answer in rows.values() if answer != "OK"]

    def hold(self, topic: str) -> None:
        """From now on, what moves in the topic stays in flight."""
        throttled = {
            "leader__replication__throttled__replicas": "*",
            "follower__replication__throttled__replicas": "*",
        }
        self.set_configs("TOPIC", topic, **throttled)
        self._set_rates("1000")
        time.sleep(1)  # Brokers hear of it by notification, and do not say when they have.

    def release(self, rate: str | None = None) -> None:
        """Lets moves run that are held by `hold`, as fast as they can or at this rate."""
        self._set_rates(rate)

    def _set_rates(self, value: str | None) -> None:
        rates = {
            "leader__replication__throttled__rate": value,
            "follower__replication__throttled__rate": value,
        }
        for broker in self.cluster.brokers:
            self.set_configs("BROKER", str(broker), **rates)

    def znode(self, path: str) -> Any:
        """The JSON of a znode, None when there is none."""
        data = self._with_zookeeper(lambda client: _znode_data(client, path))
        return None if data is None else json.loads(data)

    def has_znode(self, path: str) -> bool:
        """There is such a znode, whatever is in it."""
        return bool(self._with_zookeeper(lambda client: client.exists(path)))

    def registered_brokers(self) -> set[int]:
        """The ids below `/brokers/ids`."""
        return set(map(int, self._with_zookeeper(lambda client: client.get_children("/brokers/ids"))))

    def create_znode(self, path: str, value: Any) -> None:
        """Makes a znode as a tool does."""
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self._with_zookeeper(lambda client: client.create(path, data, makepath=True))

    def set_znode(self, path: str, value: Any) -> None:
        """Writes over a znode, whoever's it is."""
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self._with_zookeeper(lambda client: client.set(path, data))

    def remove_znode(self, path: str) -> None:
        """Removes it with all below it; it need not be there."""
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
        """What ListPartitionReassignments says, by `TOPIC-PARTITION`."""
        try:
            listed = self.admin.list_partition_reassignments() or {}
        except (KafkaError, RuntimeError):
            self._connect()
            raise
        return {f"{key.topic}-{key.partition}": row for key, row in listed.items()}

    def wait_until_idle(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Returns when nothing moves any more."""
        wait_for(self.reassignments, {}, seconds)

    def wait_for_hosts(self, topic: str, partition: int, brokers: set[int]) -> None:
        """Returns when just these brokers have a log of the partition on their disks."""
        wait_for(lambda: self.cluster.hosts(topic, partition), brokers)


def _named_controller(port: int) -> tuple[int, bool]:
    """Whom the broker names, and whether it lists that one."""
    # kafka-python cannot read what a broker 2.8 says of its cluster.
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
