"""Failures of every kind under plans of 60 partitions in ZooKeeper mode: `python -m campaigns.releases --release 2.4`.

Brokers restart in order and by kill -9; reassignd dies, and stands still for 20 s while another one stands by; ZooKeeper
restarts. A new plan is ordered before each of these. In the end every partition must be at its target, no broker may
have a log of what it is no replica of, and no broker may have stopped without moving its leaders.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from kafka import KafkaProducer
from kazoo.client import KazooClient

from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.formats import decode_state, decode_topic
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from tools.raw_connection import RawConnection
from tools.waiting import wait_until
from tools.zookeeper_cluster import ZookeeperCluster, running_cluster
from tools.zookeeper_controller import ControllerProcess

TOPIC, PARTITIONS, BROKERS = "campaign", 60, 4
RECORDS, RECORD_BYTES = 20, 10_000
STILL_SECONDS = 20
END_SECONDS = 120
LEFT_SECONDS = 90
UNCLEAN = "unclean shutdown"
"""What a broker logs when its controller did not let it go."""


class Campaign:
    """A cluster, and two reassignds: one rules, one stands by."""

    def __init__(self, cluster: ZookeeperCluster) -> None:
        self.cluster = cluster
        self._ours = [ControllerProcess(cluster, number) for number in (1000, 1001)]
        self._round = 0

    def __enter__(self) -> Self:
        for each in self._ours:
            each.start()
        wait_until(lambda: self._ruler() is not None, lambda: "a controller")
        self._create()
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._ours:
            if each.runs:
                each.kill()

    def run(self, failures: Sequence[Callable[["Campaign"], None]]) -> None:
        """Raises RuntimeError where something does not come to its end."""
        for failure in failures:
            self.order()
            began = time.monotonic()
            failure(self)
            print(f"{failure.__name__}: {time.monotonic() - began:.1f} s", flush=True)
        self.order()
        self._wait(self._listed, 0, "the plan to end")

    def left_over(self) -> dict[int, set[int]]:
        """By partition: brokers that have a log of it and are no replicas, when that does not end by itself."""
        deadline = time.monotonic() + LEFT_SECONDS
        while True:
            hosts = {number: self.cluster.hosts(TOPIC, number) for number in range(PARTITIONS)}
            found = {n: there - {*self._target(n)} for n, there in hosts.items()}
            left = {number: brokers for number, brokers in found.items() if brokers}
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(1)

    def unclean_stops(self) -> int:
        """How many times a broker stopped without the controller's leave."""
        return sum(self.cluster.log(broker).count(UNCLEAN) for broker in self.cluster.brokers)

    def order(self) -> None:
        """Each partition to other brokers, whether it has arrived at the last ones or not."""
        self._round += 1
        rows = [ReassignablePartition(number, self._target(number)) for number in range(PARTITIONS)]
        request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(TOPIC, rows)])
        self._wait(lambda: self._errors(request), {0}, "the plan to be accepted")

    # ---- failures ---------------------------------------------------------------------------------------------

    def rolling_restart(self) -> None:
        """Each broker in turn, in order, as soon as all replicas are in sync."""
        for broker in self.cluster.brokers:
            self._wait(self._out_of_sync, [], "replicas to be in sync")
            began = time.monotonic()
            self.cluster.stop_broker(broker)
            print(f"  broker {broker} stopped in {time.monotonic() - began:.1f} s", flush=True)
            self.cluster.start_broker(broker)
            self.cluster.wait_for_broker(broker)
            self.order()

    def broker_dies(self) -> None:
        """One ends as by kill -9."""
        self.cluster.kill_broker(2)
        self.order()
        # A broker that finds its own registration of before ends at once.
        self._wait(self._registered, {1, 3, 4}, "the session of broker 2 to end")
        self.cluster.start_broker(2)
        self.cluster.wait_for_broker(2)

    def ruler_dies(self) -> None:
        """The reassignd that rules, by kill -9; it is started again."""
        ruler = self._ruler()
        assert ruler is not None
        ruler.kill()
        ruler.start()

    def ruler_stands_still(self) -> None:
        """As in a long pause of its machine; the other one takes over."""
        ruler = self._ruler()
        assert ruler is not None
        os.kill(ruler.pid, signal.SIGSTOP)
        time.sleep(STILL_SECONDS)
        os.kill(ruler.pid, signal.SIGCONT)

    def zookeeper_restarts(self) -> None:
        """It ends as by kill -9; sessions outlive that."""
        self.cluster.kill_zookeeper()
        self.cluster.start_zookeeper()

    # ---- what is asked ----------------------------------------------------------------------------------------

    def _target(self, partition: int) -> tuple[int, int]:
        first = (partition + self._round) % BROKERS
        second = (first + 1 + partition // BROKERS % (BROKERS - 1)) % BROKERS
        return first + 1, second + 1

    def _create(self) -> None:
        rows = [CreatableReplicaAssignment(number, self._target(number)) for number in range(PARTITIONS)]
        request = CreateTopicsRequest([CreatableTopic(TOPIC, -1, -1, rows)], timeout_ms=60_000)
        answer = _ask(self._ruler(), request, 4)
        assert answer.topics[0].error_code == 0, answer
        wait_until(
            lambda: all(len(self.cluster.hosts(TOPIC, n)) == 2 for n in range(PARTITIONS)), lambda: "replicas"
        )
        producer = KafkaProducer(bootstrap_servers=self.cluster.bootstrap, acks="all")
        for _ in range(RECORDS):
            for number in range(PARTITIONS):
                producer.send(TOPIC, b"".ljust(RECORD_BYTES), partition=number)
        producer.flush()
        producer.close()

    def _out_of_sync(self) -> list[int]:
        """Partitions that lack a replica in the ISR, beside those that are being added. As ZooKeeper has it."""
        with self._zookeeper() as client:
            topic = decode_topic(client.get(paths.topic(TOPIC))[0]).partitions
            isrs = {n: decode_state(client.get(paths.state(TOPIC, n))[0]).isr for n in topic}
        return [n for n, each in topic.items() if not {*isrs[n], *each.adding}.issuperset(each.replicas)]

    def _registered(self) -> set[int]:
        with self._zookeeper() as client:
            return {int(name) for name in client.get_children(paths.BROKERS)} & {*self.cluster.brokers}

    @contextmanager
    def _zookeeper(self) -> Iterator[KazooClient]:
        client = KazooClient(self.cluster.zookeeper)
        client.start()
        try:
            yield client
        finally:
            client.stop()
            client.close()

    def _ruler(self) -> ControllerProcess | None:
        return next((each for each in self._ours if each.runs and _listed_by(each) is not None), None)

    def _listed(self) -> int | None:
        ruler = self._ruler()
        return None if ruler is None else _listed_by(ruler)

    def _errors(self, request: AlterPartitionReassignmentsRequest) -> set[int] | str:
        try:
            answer = _ask(self._ruler(), request, 0)
        except OSError as error:
            return str(error)
        return {row.error_code for topic in answer.responses for row in topic.partitions} | {
            answer.error_code
        }

    def _wait(self, look: Callable[[], object], expected: object, what: str) -> None:
        deadline = time.monotonic() + END_SECONDS
        while (seen := look()) != expected:
            if time.monotonic() > deadline:
                raise RuntimeError(f"waited in vain for {what}: {seen}")
            time.sleep(0.2)


FAILURES = (
    Campaign.rolling_restart,
    Campaign.broker_dies,
    Campaign.ruler_dies,
    Campaign.ruler_stands_still,
    Campaign.zookeeper_restarts,
)


def _ask(commander: ControllerProcess | None, request: tuple[Any, ...], version: int) -> Any:
    if commander is None:
        raise ConnectionError("nobody rules")
    connection = RawConnection(commander.address)
    try:
        return connection.ask(request, version)
    finally:
        connection.close()


def _listed_by(commander: ControllerProcess) -> int | None:
    """How many partitions are being reassigned; None where it does not rule, or does not answer."""
    try:
        answer = _ask(commander, ListPartitionReassignmentsRequest(), 0)
    except OSError:
        return None
    return None if answer.error_code else sum(len(topic.partitions) for topic in answer.topics)


def main() -> int:
    """1 where a log is left over, or a broker stopped without the controller's leave."""
    options = argparse.ArgumentParser(prog="python -m campaigns.releases", description=__doc__)
    options.add_argument("--release", default="2.4", choices=["3.9", "2.8", "2.4"])
    options.add_argument("--protocol", default="2.4-IV0", help="inter.broker.protocol.version")
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--folder", type=Path, help="Where the cluster's files are kept, with the logs.")
    chosen = options.parse_args()
    with ExitStack() as stack:
        cluster = running_cluster(BROKERS, chosen.folder, release=chosen.release, protocol=chosen.protocol)
        campaign = stack.enter_context(Campaign(stack.enter_context(cluster)))
        campaign.run(FAILURES * chosen.rounds)
        left, unclean = campaign.left_over(), campaign.unclean_stops()
    print(f"{len(left)} partitions have a log on a broker that is no replica: {left}")
    print(f"{unclean} brokers stopped without the controller's leave")
    return int(bool(left or unclean))


if __name__ == "__main__":
    sys.exit(main())
