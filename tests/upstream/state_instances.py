"""Instances on the state topic of a real cluster, without a server around them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from random import Random

from kafka.admin import KafkaAdminClient, NewTopic

from backends.client.handshake import ClientSettings
from backends.state_topic.candidate import Candidate, ClaimedTerm
from backends.state_topic.claim import Claim, Lease
from backends.state_topic.history import History
from backends.state_topic.kafka_log import KafkaStateLog
from backends.state_topic.log import Timings
from backends.state_topic.writer import TermWriter
from backends.upstream.client import UpstreamClient
from common.address import Address
from common.clock import RealClock
from protocol.record_batch import BatchRecord, Producer
from tools.kafka_cluster import KafkaCluster

TIMINGS = Timings(session=3.0)


def admin(kafka: KafkaCluster) -> closing[KafkaAdminClient]:
    """Open kafka-python's admin client. Any broker may be down."""
    return closing(KafkaAdminClient(bootstrap_servers=kafka.addresses().split(",")))


def create(kafka: KafkaCluster, name: str) -> None:
    """Create a state topic with three replicas."""
    settings = {"cleanup.policy": "compact", "min.insync.replicas": "2"}
    with admin(kafka) as client:
        client.create_topics([NewTopic(name, 1, 3, topic_configs=settings)])


@asynccontextmanager
async def state_log(
    kafka: KafkaCluster,
    topic: str,
    client_settings: ClientSettings | None = None,
    listener: str = "PLAINTEXT",
) -> AsyncIterator[KafkaStateLog]:
    """Open a log with clients of its own."""
    servers = [server.rsplit(":", 1) for server in kafka.addresses(listener).split(",")]
    clients = [
        UpstreamClient([Address(host, int(port)) for host, port in servers], client_settings)
        for _ in range(2)
    ]
    try:
        yield KafkaStateLog(topic, *clients)
    finally:
        for client in clients:
            await client.close()


def new_claim(last: Claim | None, producer: Producer) -> Claim:
    """Return the claim after `last`."""
    return Claim(
        instance="i",
        term=last.term + 1 if last else 1,
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        replaces=last.producer if last else None,
        session_ms=3000,
    )


class Instance:
    """An instance on the log: it claims a term, writes, and can be left without stopping."""

    def __init__(self, log: KafkaStateLog) -> None:
        self.log, self.history, self.clock = log, History(), RealClock()
        self.term: ClaimedTerm
        self.writer: TermWriter
        self.running: asyncio.Task[None]

    async def claim(self) -> "Instance":
        """Follow until the term is claimed, and begin to write."""
        candidate = Candidate(self.log, self.history, new_claim, TIMINGS, self.clock, Random(1))
        self.term = await asyncio.wait_for(candidate.claim_term(), 60)
        lease = Lease(self.clock, TIMINGS.lease)
        lease.renew(self.term.claimed)
        self.writer = TermWriter(self.log, self.term, lease, TIMINGS, self.clock)
        self.running = asyncio.create_task(self.writer.run())
        self.running.add_done_callback(_retrieve)
        return self

    async def stop(self) -> None:
        """Write what waits, and end."""
        self.writer.close()
        await asyncio.wait([self.running], timeout=10)


def _retrieve(ended: asyncio.Task[None]) -> None:
    """Tell asyncio that the exception of a lost term is known: those who commit get it, too."""
    if not ended.cancelled():
        ended.exception()


def rows(number: int, value: str = "x" * 120) -> list[BatchRecord]:
    """Return rows with different keys."""
    return [BatchRecord(f"row-{n}".encode(), value.encode()) for n in range(number)]


async def replayed(log: KafkaStateLog) -> History:
    """Read the whole log."""
    history = History()
    while True:
        fetched = await log.fetch(history.next_offset)
        history.apply(fetched.batches)
        if history.next_offset >= fetched.end_offset:
            return history
