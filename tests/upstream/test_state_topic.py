"""The log of the state topic on a real cluster: fencing and transactions."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from itertools import count
from random import Random

import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic

from backends.state_topic.candidate import Candidate, Term
from backends.state_topic.claim import CLAIM_KEY, Claim
from backends.state_topic.history import History
from backends.state_topic.kafka_log import KafkaStateLog
from backends.state_topic.lease import Lease
from backends.state_topic.ports import FencedError, Timings
from backends.state_topic.writer import TermWriter
from backends.upstream.client import UpstreamClient
from common.address import Address
from common.clock import RealClock
from protocol.record_batch import BatchRecord, Producer
from tools.kafka_cluster import KafkaCluster

TIMINGS = Timings(session=3.0)
NUMBERS = count()


@pytest.fixture
def topic(kafka: KafkaCluster) -> Iterator[str]:
    """The name of a new state topic with three replicas."""
    name = f"__reassignd_state_{next(NUMBERS)}"
    create(kafka, name)
    yield name
    with admin(kafka) as client:
        client.delete_topics([name])


def admin(kafka: KafkaCluster) -> closing[KafkaAdminClient]:
    return closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap))


def create(kafka: KafkaCluster, name: str) -> None:
    settings = {"cleanup.policy": "compact", "min.insync.replicas": "2"}
    with admin(kafka) as client:
        client.create_topics([NewTopic(name, 1, 3, topic_configs=settings)])


@asynccontextmanager
async def state_log(kafka: KafkaCluster, topic: str) -> AsyncIterator[KafkaStateLog]:
    servers = [server.rsplit(":", 1) for server in kafka.bootstrap.split(",")]
    clients = [UpstreamClient([Address(host, int(port)) for host, port in servers]) for _ in range(2)]
    yield KafkaStateLog(topic, *clients)
    for client in clients:
        await client.close()


def new_claim(last: Claim | None, producer: Producer) -> Claim:
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
        self.term: Term
        self.writer: TermWriter
        self.running: asyncio.Task[None]

    async def claim(self) -> "Instance":
        candidate = Candidate(self.log, self.history, new_claim, TIMINGS, self.clock, Random(1))
        self.term = await asyncio.wait_for(candidate.claim_term(), 60)
        lease = Lease(self.clock, TIMINGS.lease)
        lease.renew(self.term.claimed)
        self.writer = TermWriter(self.log, self.term, lease, TIMINGS, self.clock)
        self.running = asyncio.create_task(self.writer.run())
        return self

    async def stop(self) -> None:
        self.writer.close()
        await asyncio.wait([self.running], timeout=10)
        if self.running.done():
            self.running.exception()


def rows(number: int, value: str = "x" * 120) -> list[BatchRecord]:
    return [BatchRecord(f"row-{n}".encode(), value.encode()) for n in range(number)]


async def replayed(log: KafkaStateLog) -> History:
    history = History()
    while True:
        fetched = await log.fetch(history.next_offset)
        history.apply(fetched.batches)
        if history.next_offset >= fetched.end_offset:
            return history


async def test_committed_rows_are_read_by_others(kafka: KafkaCluster, topic: str) -> None:
    async with state_log(kafka, topic) as log:
        instance = await Instance(log).claim()
        await instance.writer.commit(rows(10))
        await instance.stop()
        assert await replayed(log) is not None
        assert set((await replayed(log)).rows) == {row.key for row in rows(10)}
    partition = TopicPartition(topic, 0)
    consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", group_id=None)
    consumer.assign([partition])
    read = [record.key for batch in consumer.poll(10_000).values() for record in batch]
    consumer.close()
    assert [key for key in read if key != CLAIM_KEY] == [row.key for row in rows(10)]


async def test_a_large_commit_is_one_transaction(kafka: KafkaCluster, topic: str) -> None:
    async with state_log(kafka, topic) as log:
        instance = await Instance(log).claim()
        await instance.writer.commit(rows(30_000))
        await instance.writer.commit(rows(1, "after"))
        await instance.stop()
        history = await replayed(log)
        assert (len(history.rows), history.rows[b"row-0"]) == (30_000, b"after")


async def test_a_newer_claim_fences_the_older_one(kafka: KafkaCluster, topic: str) -> None:
    async with state_log(kafka, topic) as log, state_log(kafka, topic) as other:
        first = await Instance(log).claim()
        await first.writer.commit(rows(1, "first"))
        # The first instance writes nothing meanwhile, as if it were stopped.
        first.running.cancel()
        second = await Instance(other).claim()
        assert second.term.claim.term == first.term.claim.term + 1
        with pytest.raises(FencedError):
            await log.append(rows(1, "late"), first.term.claim.producer, first.term.sequence + 1)
        await second.writer.commit(rows(1, "second"))
        await second.stop()
        assert (await replayed(log)).rows == {b"row-0": b"second"}


async def test_an_open_transaction_of_the_predecessor_is_aborted(kafka: KafkaCluster, topic: str) -> None:
    async with state_log(kafka, topic) as log, state_log(kafka, topic) as other:
        first = await Instance(log).claim()
        first.running.cancel()
        producer, sequence = first.term.claim.producer, first.term.sequence
        await log.begin_transaction(producer)
        await log.append(rows(5), producer, sequence, transactional=True)
        second = await Instance(other).claim()
        with pytest.raises(FencedError):
            await log.end_transaction(producer)
        await second.stop()
        assert (await replayed(other)).rows == {}
