"""Clusters on which reassignment scripts run.

The embedded cluster and real Kafka, behind the same few calls.
"""

import os
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence

from kafka import KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType

from common.error_codes import ErrorCode
from controller.model.cluster import Replicas
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from reassignd.testing.blocking import BlockingCluster
from tests.upstream.scripts import DEAD, FENCED, LAGGING, SCRIPTS, Order, Pause
from tools.kafka_cluster import KafkaCluster, admin_client
from tools.raw_connection import RawConnection

TOPICS = {f"script-{number}": name for number, name in enumerate(SCRIPTS)}
SECONDS = 60
"""Time limit for each change."""
STABLE_SECONDS = 2.0

States = Mapping[str, str]
"""The state of each script's partition, as `described`."""
Answers = Mapping[str, Sequence[str]]
"""The error codes of each script's orders."""

THROTTLED_REPLICAS, RATE = "follower.replication.throttled.replicas", "follower.replication.throttled.rate"


def described(replicas: Replicas, isr: Replicas, listed: tuple[Replicas, Replicas, Replicas] | None) -> str:
    """Return replicas, ISR and listed reassignment as a line: `3,2 -1 isr 1,2 listed 3,2 -1 +3`.

    The order of removing and of adding replicas is left out: Kafka sorts them.
    """
    removing = listed[2] if listed else ()
    state = f"{_lists(replicas, removing)} isr {','.join(map(str, sorted(isr)))}"
    if listed is None:
        return state
    return " ".join([state, "listed", _lists(listed[0], removing), *(f"+{r}" for r in sorted(listed[1]))])


def _lists(replicas: Replicas, removing: Replicas) -> str:
    kept = ",".join(str(r) for r in replicas if r not in removing)
    return " ".join([kept, *(f"-{r}" for r in sorted(removing) if r in replicas)]).strip()


class ScriptCluster:
    """Six brokers. Broker 1 is asked, and stays online."""

    def __init__(self, bootstrap: str) -> None:
        self._connection = RawConnection(bootstrap)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @abstractmethod
    def begin(self) -> None:
        """Create the topics. From now on LAGGING receives no data."""

    @abstractmethod
    def fail(self) -> None:
        """Stop DEAD and FENCED."""

    @abstractmethod
    def recover(self) -> None:
        """Start them again."""

    @abstractmethod
    def release(self) -> None:
        """Let LAGGING receive data."""

    def change(self, pause: Pause) -> None:
        """Change the brokers as the pause requires, and wait until the ISRs show it."""
        if pause is Pause.OFFLINE:
            self.fail()
            wait_until(lambda: not any(self._may_leave(*each) for each in self._partitions().values()))
        elif pause is Pause.RETURNED:
            self.recover()
            wait_until(lambda: not any(self._may_join(*each) for each in self._partitions().values()))
        elif pause is Pause.CAUGHT_UP:
            self.release()

    def order(self, pause: Pause) -> Answers:
        """Send the scripts' orders. Each order waits until the first one of its script has taken effect."""
        answers: dict[str, list[str]] = {}
        for number in range(max(len(script.orders.get(pause, ())) for script in SCRIPTS.values())):
            if number:
                self.stable()
            for topic, name in TOPICS.items():
                if number < len(orders := SCRIPTS[name].orders.get(pause, ())):
                    answers.setdefault(name, []).append(self._alter(topic, orders[number]).name)
        return answers

    def look(self) -> States:
        """Return the state of each script's partition."""
        answer = self._connection.ask(ListPartitionReassignmentsRequest(topics=None), 0)
        listed = {
            topic.name: (row.replicas, row.adding_replicas, row.removing_replicas)
            for topic in answer.topics
            for row in topic.partitions
        }
        partitions = self._partitions()
        return {name: described(*partitions[topic], listed.get(topic)) for topic, name in TOPICS.items()}

    def stable(self) -> States:
        """Wait until nothing has changed for STABLE_SECONDS, and return the states."""
        return self._stable(lambda _: True)

    def reached(self, expected: States) -> States:
        """Wait until the states are the expected ones and stay so.

        After the time limit, return what they are.
        """
        return self._stable(lambda states: states == expected)

    def _stable(self, accepted: Callable[[States], bool]) -> States:
        deadline, since, before = time.monotonic() + SECONDS, time.monotonic(), self.look()
        while time.monotonic() < deadline:
            time.sleep(0.2)
            now = self.look()
            if now != before or not accepted(now):
                before, since = now, time.monotonic()
            elif time.monotonic() - since > STABLE_SECONDS:
                break
        return before

    def _alter(self, topic: str, target: Order) -> ErrorCode:
        row = ReassignableTopic(topic, [ReassignablePartition(0, target)])
        answer = self._connection.ask(AlterPartitionReassignmentsRequest(topics=[row]), 0)
        return ErrorCode(answer.responses[0].partitions[0].error_code)

    def _partitions(self) -> dict[str, tuple[Replicas, Replicas]]:
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=topic) for topic in TOPICS], allow_auto_topic_creation=False
        )
        rows = self._connection.ask(request, 7).topics
        return {row.name or "": (p.replica_nodes, p.isr_nodes) for row in rows for p in row.partitions}

    @staticmethod
    def _may_leave(replicas: Replicas, isr: Replicas) -> bool:
        """Whether a broker that is offline is in the ISR, and will leave it."""
        offline = {DEAD, FENCED}
        return bool(offline & set(isr)) and bool(set(replicas) - offline)

    @staticmethod
    def _may_join(replicas: Replicas, isr: Replicas) -> bool:
        return bool({DEAD, FENCED} & set(replicas) - set(isr))


class EmbeddedScripts(ScriptCluster):
    """The embedded cluster."""

    def __init__(self, cluster: BlockingCluster) -> None:
        super().__init__(cluster.bootstrap_servers.split(",")[0])
        self._cluster = cluster

    def begin(self) -> None:
        for topic, name in TOPICS.items():
            self._cluster.create_topic(topic, [SCRIPTS[name].before])
        self._cluster.slow_broker(LAGGING, 0)

    def fail(self) -> None:
        for broker in (DEAD, FENCED):
            self._cluster.stop_broker(broker, controlled=False)

    def recover(self) -> None:
        for broker in (DEAD, FENCED):
            self._cluster.start_broker(broker)

    def release(self) -> None:
        self._cluster.slow_broker(LAGGING, 1)


class KafkaScripts(ScriptCluster):
    """Real Kafka. Broker 1 is the controller, too."""

    def __init__(self, kafka: KafkaCluster) -> None:
        super().__init__(kafka.bootstrap)
        self._kafka = kafka

    def begin(self) -> None:
        topics = {
            topic: {"assignments": {0: list(SCRIPTS[name].before)}, "configs": {THROTTLED_REPLICAS: "*"}}
            for topic, name in TOPICS.items()
        }
        with admin_client(self._kafka.bootstrap) as admin:
            admin.create_topics(topics)
        wait_until(lambda: all(map(self._kafka.all_know, topics)))
        self._throttle("1")
        producer = KafkaProducer(bootstrap_servers=self._kafka.bootstrap, acks="all", linger_ms=20)
        for topic, name in TOPICS.items():
            if any(LAGGING in (order or ()) for orders in SCRIPTS[name].orders.values() for order in orders):
                for _ in range(400):
                    producer.send(topic, os.urandom(1000))
        producer.close()

    def fail(self) -> None:
        self._kafka.kill_node(DEAD)
        self._kafka.freeze_node(FENCED)

    def recover(self) -> None:
        self._kafka.start_node(DEAD)
        self._kafka.thaw_node(FENCED)
        self._kafka.wait_ready()

    def release(self) -> None:
        self._throttle(None)

    def _throttle(self, rate: str | None) -> None:
        change = ("SET", rate) if rate is not None else ("DELETE", None)
        lagging = ConfigResource(ConfigResourceType.BROKER, str(LAGGING), configs={RATE: change})
        with admin_client(self._kafka.bootstrap) as admin:
            admin.alter_configs([lagging], raise_on_unknown=False)


def wait_until(reached: Callable[[], bool]) -> None:
    """Wait at most SECONDS."""
    deadline = time.monotonic() + SECONDS
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.2)
