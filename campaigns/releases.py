"""Failures during plans of 60 partitions in ZooKeeper mode: `python -m campaigns.releases --release 2.4`.

Brokers are restarted by controlled shutdown and by kill -9. The reassignd controller is killed, and paused
for 20 s, while another one is on standby. ZooKeeper restarts. A new plan is submitted before each failure. At
the end every partition must be at its target, brokers must have logs of their replicas only, and no broker
may have had an unclean shutdown.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from kafka import KafkaProducer
from kazoo.client import KazooClient

from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.formats import decode_state, decode_topic
from protocol.codec.schema import Request, Response
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
"""Text that a broker logs if its controlled shutdown fails."""


class Campaign:
    """A cluster and two reassignd processes: the controller and a standby."""

    def __init__(self, cluster: ZookeeperCluster) -> None:
        self.cluster = cluster
        self._processes = [ControllerProcess(cluster, number) for number in (1000, 1001)]
        self._round = 0

    def __enter__(self) -> Self:
        for each in self._processes:
            each.start()
        wait_until(lambda: self._controller() is not None, lambda: "a controller")
        self._create()
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._processes:
            if each.runs:
                each.kill()

    def run(self, failures: Sequence[Callable[["Campaign"], None]]) -> None:
        """Cause each failure during a plan. Raises RuntimeError if a plan does not end in time."""
        for failure in failures:
            self.order()
            began = time.monotonic()
            failure(self)
            print(f"{failure.__name__}: {time.monotonic() - began:.1f} s", flush=True)
        self.order()
        self._wait(self._listed, 0, "the plan to end")

    def left_over(self) -> dict[int, set[int]]:
        """Return the brokers with a log of a partition of which they are not a replica, by partition.

        Waits up to LEFT_SECONDS for the logs to be deleted.
        """
        deadline = time.monotonic() + LEFT_SECONDS
        while True:
            hosts = {number: self.cluster.hosts(TOPIC, number) for number in range(PARTITIONS)}
            found = {n: there - {*self._target(n)} for n, there in hosts.items()}
            left = {number: brokers for number, brokers in found.items() if brokers}
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(1)

    def unclean_stops(self) -> int:
        """Return the number of unclean shutdowns of brokers."""
        return sum(self.cluster.log(broker).count(UNCLEAN) for broker in self.cluster.brokers)

    def order(self) -> None:
        """Reassign each partition to other brokers, whether its last reassignment has ended or not."""
        self._round += 1
        rows = [ReassignablePartition(number, self._target(number)) for number in range(PARTITIONS)]
        request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(TOPIC, rows)])
        self._wait(lambda: self._errors(request), {0}, "the plan to be accepted")

    # ---- failures -------------------------------------------------------------------------------------

    def rolling_restart(self) -> None:
        """Restart each broker by controlled shutdown, when all replicas are in sync."""
        for broker in self.cluster.brokers:
            self._wait(self._out_of_sync, [], "replicas to be in sync")
            began = time.monotonic()
            self.cluster.stop_broker(broker)
            print(f"  broker {broker} stopped in {time.monotonic() - began:.1f} s", flush=True)
            self.cluster.start_broker(broker)
            self.cluster.wait_for_broker(broker)
            self.order()

    def broker_dies(self) -> None:
        """Kill broker 2 with SIGKILL and start it again."""
        self.cluster.kill_broker(2)
        self.order()
        # A broker ends at once if its old registration still exists.
        self._wait(self._registered, {1, 3, 4}, "the session of broker 2 to end")
        self.cluster.start_broker(2)
        self.cluster.wait_for_broker(2)

    def controller_dies(self) -> None:
        """Kill the controller with SIGKILL and start it again."""
        controller = self._controller()
        assert controller is not None
        controller.kill()
        controller.start()

    def controller_pauses(self) -> None:
        """Pause the controller for STILL_SECONDS with SIGSTOP. The standby takes over."""
        controller = self._controller()
        assert controller is not None
        os.kill(controller.pid, signal.SIGSTOP)
        time.sleep(STILL_SECONDS)
        os.kill(controller.pid, signal.SIGCONT)

    def zookeeper_restarts(self) -> None:
        """Kill ZooKeeper with SIGKILL and start it again. Sessions survive."""
        self.cluster.kill_zookeeper()
        self.cluster.start_zookeeper()

    # ---- state of the cluster -------------------------------------------------------------------------

    def _target(self, partition: int) -> tuple[int, int]:
        first = (partition + self._round) % BROKERS
        second = (first + 1 + partition // BROKERS % (BROKERS - 1)) % BROKERS
        return first + 1, second + 1

    def _create(self) -> None:
        rows = [CreatableReplicaAssignment(number, self._target(number)) for number in range(PARTITIONS)]
        request = CreateTopicsRequest([CreatableTopic(TOPIC, -1, -1, rows)], timeout_ms=60_000)
        answer = _ask(self._controller(), request, 4)
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
        """Return the partitions with a replica out of sync that is not being added, from ZooKeeper."""
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

    def _controller(self) -> ControllerProcess | None:
        return next((each for each in self._processes if each.runs and _listed_by(each) is not None), None)

    def _listed(self) -> int | None:
        controller = self._controller()
        return None if controller is None else _listed_by(controller)

    def _errors(self, request: AlterPartitionReassignmentsRequest) -> set[int] | str:
        try:
            answer = _ask(self._controller(), request, 0)
        except OSError as error:
            return str(error)
        return {row.error_code for topic in answer.responses for row in topic.partitions} | {
            answer.error_code
        }

    def _wait(self, shown: Callable[[], object], expected: object, what: str) -> None:
        deadline = time.monotonic() + END_SECONDS
        while (seen := shown()) != expected:
            if time.monotonic() > deadline:
                raise RuntimeError(f"timed out after {END_SECONDS} s waiting for {what}: {seen}")
            time.sleep(0.2)


FAILURES = (
    Campaign.rolling_restart,
    Campaign.broker_dies,
    Campaign.controller_dies,
    Campaign.controller_pauses,
    Campaign.zookeeper_restarts,
)


def _ask(process: ControllerProcess | None, request: Request[Response], version: int) -> Response:
    if process is None:
        raise ConnectionError("no reassignd process is the controller")
    connection = RawConnection(process.address)
    try:
        return connection.ask(request, version)
    finally:
        connection.close()


def _listed_by(process: ControllerProcess) -> int | None:
    """Return the number of ongoing reassignments.

    The result is None if the process is not the controller or does not answer.
    """
    try:
        answer = _ask(process, ListPartitionReassignmentsRequest(), 0)
    except OSError:
        return None
    return None if answer.error_code else sum(len(topic.partitions) for topic in answer.topics)


def main() -> int:
    """Return 1 if a log is left over or a broker had an unclean shutdown."""
    options = argparse.ArgumentParser(prog="python -m campaigns.releases", description=__doc__)
    options.add_argument("--release", default="2.4", choices=["3.9", "2.8", "2.4"])
    options.add_argument("--protocol", default="2.4-IV0", help="inter.broker.protocol.version")
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--folder", type=Path, help="folder for the cluster's files and logs")
    chosen = options.parse_args()
    with ExitStack() as stack:
        cluster = running_cluster(BROKERS, chosen.folder, release=chosen.release, protocol=chosen.protocol)
        campaign = stack.enter_context(Campaign(stack.enter_context(cluster)))
        campaign.run(FAILURES * chosen.rounds)
        left, unclean = campaign.left_over(), campaign.unclean_stops()
    print(f"partitions with a log on a broker that is not a replica: {len(left)} {left}")
    print(f"unclean shutdowns of brokers: {unclean}")
    return int(bool(left or unclean))


if __name__ == "__main__":
    sys.exit(main())
