"""Two instances that share a state topic, under orders, behind a recording proxy.

The module also checks what must hold in the end.

A client sends orders to both instances all the time. In the end each partition must have the replicas of its
last acknowledged order, no partition may have been blocked, the log of the state topic must have no batch of
an earlier instance after a claim, and no instance may have sent a step after the claim of another one, or
without a lease.
"""

import argparse
import asyncio
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import TypeVar

from backends.client.errors import BrokerError
from backends.upstream.client import UpstreamClient
from campaigns.orders import CHOICES, TOPIC, Orders, Replicas, SurvivalError
from campaigns.recording_proxy import RecordingProxy
from campaigns.state_batches import Findings, read_findings
from campaigns.step_record import StepRecord
from campaigns.suspended_instance import STOP_FILE
from common.address import Address
from protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tools.instances import SESSION_MS, Instance
from tools.kafka_cluster import KafkaCluster, running_kafka
from tools.kafka_settings import SOON_FENCED, WATCHED, Spec

STATE_TOPIC = "__reassignd_state"
SESSION = SESSION_MS / 1000
PARTITIONS, SENDERS = 120, 3
"""Partitions, and tasks that send orders to each instance."""

ACTIVE = "role: active"
TAKE_OVER_SECONDS = 120.0
END_SECONDS = 60.0
"""Longest time without progress in the end."""
LIMIT = "reassignment.max.concurrent.partition.movements"

ATTEMPTS = 10

Say = Callable[[str], None]
Answer = TypeVar("Answer")


def address(text: str) -> Address:
    """Return the parts of HOST:PORT."""
    host, _, port = text.rpartition(":")
    return Address(host, int(port))


async def repeated(ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """Return the answer to a request that may be repeated: a busy cluster does not answer each in time."""
    for _ in range(ATTEMPTS - 1):
        with suppress(BrokerError, OSError):
            return await ask()
        await asyncio.sleep(1)
    return await ask()


class TwoInstances:
    """Two instances before a cluster, with the proxy.

    A campaign calls `start`, does harm, and calls `finish`.
    """

    PAUSE_SECONDS = 0.1
    """Longest pause between two orders of a sender."""

    SPEC = Spec(3, "4.1", controllers=1, watched=True, settings=SOON_FENCED)

    def __init__(self, kafka: KafkaCluster, proxy: RecordingProxy, folder: Path, seed: int) -> None:
        self.kafka, self.proxy, self.record = kafka, proxy, proxy.record
        self.rng = random.Random(seed)
        servers = ",".join(
            f"127.0.0.2:{kafka.address(broker, WATCHED).rpartition(':')[2]}" for broker in kafka.brokers
        )
        self.instances = [Instance(kafka, folder, name, STATE_TOPIC, servers) for name in ("first", "second")]
        self.stop_file = folder / "stop"
        """An instance that sees this file removes it and suspends itself."""
        os.environ[STOP_FILE] = str(self.stop_file)
        for instance in self.instances:
            instance.use_module("campaigns.suspended_instance")
        self.orders = Orders(PARTITIONS, self.rng)
        self.counts = self.orders.counts
        self.findings = Findings()
        """What is in the log of the state topic, after `finish`."""
        self.client = UpstreamClient([address(each) for each in kafka.addresses().split(",")])
        """Asks the cluster itself, not by the proxy."""
        self._ending = asyncio.Event()
        self._sending: Sequence[asyncio.Future[None]] = ()

    async def start(self) -> None:
        """Create the topic, start the instances and begin to send orders."""
        await self.create_topic(TOPIC, [CHOICES[0]] * PARTITIONS)
        for instance in self.instances:
            await self.start_instance(instance)
        await self._limit("20")
        self._sending = [asyncio.ensure_future(self._send(each)) for each in self.instances * SENDERS]

    async def create_topic(self, name: str, replicas: Sequence[Replicas]) -> None:
        """Create a topic in the cluster. Raises SurvivalError."""
        rows = [CreatableReplicaAssignment(number, brokers) for number, brokers in enumerate(replicas)]
        response = await self.client.ask(CreateTopicsRequest([CreatableTopic(name, -1, -1, rows)], 30_000))
        if response.topics[0].error_code:
            raise SurvivalError(f"the topic was not created: {response}")

    async def start_instance(self, instance: Instance) -> None:
        """Start an instance. Raises SurvivalError."""
        process = instance.launch()
        self.proxy.pids.add(process.pid)
        assert process.stdout is not None
        line = await asyncio.to_thread(process.stdout.readline)
        if not line.startswith("ready: "):
            raise SurvivalError(f"an instance did not start: {instance.log[-2000:]}")

    async def end_orders(self) -> None:
        """Send no more orders, and wait for the last answers.

        Orders that are given up may be carried out or not.
        """
        self._ending.set()
        await asyncio.gather(*self._sending)

    async def finish(self) -> None:
        """Wait for the last answers and for the end of all moves, and check everything.

        Raises SurvivalError.
        """
        await self.end_orders()
        await self.active()
        await self._limit("100")
        before, since = await self._differences(), time.monotonic()
        while before:
            await asyncio.sleep(0.5)
            left = await self._differences()
            if left != before:
                before, since = left, time.monotonic()
            elif time.monotonic() > since + END_SECONDS:
                raise SurvivalError(
                    "partitions without the replicas of their last order:\n" + "\n".join(left)
                )
        self.check()
        self.findings = findings = await repeated(lambda: read_findings(STATE_TOPIC, self.client))
        if findings.late or findings.blocked:
            raise SurvivalError(f"late batches: {findings.late}; blocked partitions: {findings.blocked}")

    def end(self) -> None:
        """Kill the instances."""
        for instance in self.instances:
            if instance.runs:
                instance.kill()

    def check(self) -> None:
        """Check what can be checked at any time. Raises SurvivalError, also for an order that was refused."""
        for each in self._sending:
            if each.done():
                each.result()
        if self.record.late or self.record.unleased:
            pids = [each.pid for each in self.instances]
            raise SurvivalError(
                f"steps after the claim of another instance: {self.record.late};"
                f" steps without a lease: {self.record.unleased};"
                f" claims (term, process): {self.record.claims}; instances now: {pids}"
            )

    @property
    def take_overs(self) -> int:
        """Number of claims after a claim of another process."""
        return sum(one != other for (_, one), (_, other) in pairwise(self.record.claims))

    @property
    def progress(self) -> str:
        """Counts in one line."""
        record = self.record
        return f"{record.rows:,} steps, {self.take_overs} take-overs, {dict(self.counts)}"

    @property
    def result(self) -> str:
        """What was found, in one line."""
        record, findings = self.record, self.findings
        return (
            f"{findings.batches:,} batches, {findings.commits:,} transactions and {findings.claims}"
            " claims in the log,"
            f" {len(findings.late)} late;"
            f" {len(record.late)} steps after another claim, {len(record.unleased)} without a lease;"
            f" {len(findings.blocked)} partitions blocked;"
            f" longest pause of the proxy {self.proxy.longest_pause:.1f} s"
        )

    async def active(self) -> Instance:
        """Wait until an instance is active, and return it. Raises SurvivalError."""
        deadline = time.monotonic() + TAKE_OVER_SECONDS
        while time.monotonic() < deadline:
            for instance in self.instances:
                if await self.is_active(instance):
                    return instance
            await asyncio.sleep(0.1)
        raise SurvivalError("no instance is active")

    def other(self, instance: Instance) -> Instance:
        """Return the other instance."""
        return self.instances[1 - self.instances.index(instance)]

    async def wait_active(self, instance: Instance) -> None:
        """Wait until this instance is active. Raises SurvivalError."""
        began = time.monotonic()
        while not await self.is_active(instance):
            if time.monotonic() > began + TAKE_OVER_SECONDS:
                raise SurvivalError(f"no take-over: {instance.log[-2000:]}")
            await asyncio.sleep(0.05)

    async def is_active(self, instance: Instance) -> bool:
        """Return whether the instance says so, and has the newest claim.

        A deposed one may not know it yet.
        """
        if instance.pid != self.record.active:
            return False
        try:
            return ACTIVE in await asyncio.wait_for(asyncio.to_thread(instance.text, "/readyz"), 3)
        except (OSError, TimeoutError):
            return False

    async def _send(self, instance: Instance) -> None:
        while not self._ending.is_set():
            client = UpstreamClient([address(instance.bootstrap)])
            try:
                for _ in range(10):
                    if self._ending.is_set():
                        break
                    await self.orders.send(client, instance.bootstrap)
                    await asyncio.sleep(self.rng.uniform(0, self.PAUSE_SECONDS))
            finally:
                await client.close()

    async def _differences(self) -> list[str]:
        """Return what is not as ordered, one line per partition."""
        listed = await repeated(lambda: self.client.ask(ListPartitionReassignmentsRequest()))
        moving = [
            f"partition {row.partition_index} moves" for topic in listed.topics for row in topic.partitions
        ]
        request = MetadataRequest([MetadataRequestTopic(name=TOPIC)])
        response = await repeated(lambda: self.client.ask(request))
        now = {row.partition_index: tuple(row.replica_nodes) for row in response.topics[0].partitions}
        return moving + [
            f"partition {number} has {now[number]} instead of {wanted}: {self.orders.history(number)}"
            for number, wanted in enumerate(self.orders.wanted)
            if now[number] not in wanted
        ]

    async def _limit(self, value: str) -> None:
        """Set the limit on partition movements at one of the instances."""
        client = UpstreamClient([address(self.instances[0].bootstrap)])
        config = AlterableConfig(LIMIT, 0, value)
        request = IncrementalAlterConfigsRequest([AlterConfigsResource(4, "", [config])], False)
        (row,) = (await repeated(lambda: client.ask(request))).responses
        await client.close()
        if row.error_code:
            raise SurvivalError(f"the limit was not set: {row}")


Kind = TypeVar("Kind", bound=TwoInstances)


@contextmanager
def two_instances(kind: type[Kind], folder: Path, seed: int) -> Iterator[Kind]:
    """Run the cluster and the proxy; the instances are started by `TwoInstances.start`."""
    (folder / "kafka").mkdir()
    with running_kafka(kind.SPEC, folder=folder / "kafka") as kafka:
        brokers = {broker: address(kafka.address(broker, WATCHED)) for broker in kafka.brokers}
        pairs = {broker: (Address("127.0.0.2", at.port), at) for broker, at in brokers.items()}
        with RecordingProxy(pairs, StepRecord(STATE_TOPIC, SESSION)) as proxy:
            run = kind(kafka, proxy, folder, seed)
            try:
                yield run
            finally:
                run.end()


def rounds_within(rounds: int, minutes: float) -> Iterator[int]:
    """Yield the numbers of the rounds until the time is over."""
    end = time.monotonic() + 60 * minutes
    for number in range(1, rounds + 1):
        if time.monotonic() > end:
            return
        yield number


def parser_of(program: str, description: str | None, rounds: int) -> argparse.ArgumentParser:
    """Return a parser with the options of all campaigns."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--minutes", type=float, default=inf, help="begin no round after this time")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    return parser


def run_campaign(kind: type[Kind], seed: int, rounds: Callable[[Kind, Say], Awaitable[None]]) -> int:
    """Run a campaign and print what was found. Return 1 and keep the logs when something was lost."""
    begun, folder = time.monotonic(), Path(tempfile.mkdtemp())

    async def run_all(run: Kind) -> None:
        await run.start()
        await rounds(run, lambda line: print(line, flush=True))
        await run.finish()

    with two_instances(kind, folder, seed) as run:
        try:
            asyncio.run(run_all(run))
        except SurvivalError as error:
            print(f"seed {seed}, logs in {folder}: {error}", file=sys.stderr)
            return 1
        print(f"{time.monotonic() - begun:.0f} s, seed {seed}: nothing lost")
        print(f"{run.progress}\n{run.result}")
    shutil.rmtree(folder)
    return 0
