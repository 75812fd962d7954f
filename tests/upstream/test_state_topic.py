"""The log of the state topic on a real cluster: fencing and transactions."""

from collections.abc import Iterator
from itertools import count

import pytest
from kafka import KafkaConsumer, TopicPartition

from backends.state_topic.claim import CLAIM_KEY
from backends.state_topic.log import FencedError
from tests.upstream.state_instances import Instance, admin, create, replayed, rows, state_log
from tools.kafka_cluster import KafkaCluster

NUMBERS = count()


@pytest.fixture
def topic(kafka: KafkaCluster) -> Iterator[str]:
    """The name of a new state topic with three replicas."""
    name = f"__reassignd_state_log_{next(NUMBERS)}"
    create(kafka, name)
    yield name
    with admin(kafka) as client:
        client.delete_topics([name])


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
