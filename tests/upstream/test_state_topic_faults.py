"""Faults of the cluster under the state topic: each is survived, or named in one line."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import count

import pytest
from kafka import KafkaProducer
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ConfigResource,
    ConfigResourceType,
    ResourcePattern,
    ResourceType,
)

from backends.client.handshake import ClientSettings
from backends.state_topic.kafka_log import KafkaStateLog
from backends.state_topic.log import TopicReplacedError
from backends.state_topic.state_rows import decode_records
from backends.state_topic.topic import StateTopicError, open_topic
from backends.upstream.client import UpstreamClient
from common.address import Address
from controller.ports import StoreLostError
from protocol.codec.errors import DecodeError
from protocol.messages.find_coordinator_request import FindCoordinatorRequest
from protocol.record_batch import BatchRecord
from reassignd.config.command_config import load
from tests.upstream.state_instances import Instance, admin, create, replayed, rows, state_log
from tools.kafka_cluster import KafkaCluster, running_kafka
from tools.kafka_settings import SOON_FENCED, Spec

NUMBERS = count()
SASL = "SASL_PLAINTEXT"
SETTINGS = SOON_FENCED | {
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
}
SECONDS = 90
"""Limit for a cluster to recover."""


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Three brokers of Kafka 4.1 with an authorizer; the controller is a node of its own."""
    spec = Spec(3, "4.1", apart=True, secured=True, settings=SETTINGS)
    with running_kafka(spec, folder=tmp_path_factory.mktemp("three")) as cluster:
        yield cluster


@pytest.fixture
def topic(three: KafkaCluster) -> str:
    """The name of a new state topic with three replicas."""
    name = f"__reassignd_state_{next(NUMBERS)}"
    create(three, name)
    return name


class Committing:
    """Commits numbered rows one after the other; claims again when a term is lost."""

    def __init__(self, instance: Instance) -> None:
        self.acknowledged: list[bytes] = []
        self._instance = instance
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        for number in count():
            key = f"committed-{number}".encode()
            with suppress(StoreLostError):
                await self._instance.writer.commit([BatchRecord(key, b"row")])
                self.acknowledged.append(key)
                continue
            await self._instance.claim()

    async def wait_for(self, more: int) -> None:
        """Wait until this many further rows are acknowledged."""
        wanted = len(self.acknowledged) + more
        async with asyncio.timeout(SECONDS):
            while len(self.acknowledged) < wanted:
                assert not self._task.done(), self._task.exception()
                await asyncio.sleep(0.05)

    async def stop(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        await self._instance.stop()


@asynccontextmanager
async def committing(three: KafkaCluster, topic: str) -> AsyncIterator[Committing]:
    """Commit during the context; at its end, each acknowledged row is in the log."""
    async with state_log(three, topic) as log:
        commits = Committing(await Instance(log).claim())
        await commits.wait_for(5)
        yield commits
        await commits.wait_for(20)
        await commits.stop()
        assert set((await replayed(log)).rows) >= set(commits.acknowledged)


def client_of(three: KafkaCluster) -> UpstreamClient:
    servers = [server.split(":") for server in three.addresses().split(",")]
    return UpstreamClient([Address(host, int(port)) for host, port in servers])


def leader_of(three: KafkaCluster, topic: str) -> int:
    with admin(three) as client:
        return int(client.describe_topics([topic])[0]["partitions"][0]["leader_id"])


async def coordinator_of(three: KafkaCluster, topic: str) -> int:
    client = client_of(three)
    answer = await client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=(topic,)))
    await client.close()
    return answer.coordinators[0].node_id


async def start_again(three: KafkaCluster, *brokers: int) -> None:
    for broker in brokers:
        three.start_node(broker)
    await asyncio.to_thread(three.wait_ready)


async def test_the_leader_of_the_partition_is_killed(three: KafkaCluster, topic: str) -> None:
    async with committing(three, topic) as commits:
        leader = leader_of(three, topic)
        three.kill_node(leader)
        await commits.wait_for(20)
        assert leader_of(three, topic) != leader
        await start_again(three, leader)


async def test_the_transaction_coordinator_is_killed(three: KafkaCluster, topic: str) -> None:
    async with state_log(three, topic) as log:
        instance = await Instance(log).claim()
        coordinator = await coordinator_of(three, topic)
        three.kill_node(coordinator)
        async with asyncio.timeout(SECONDS):
            while True:
                with suppress(StoreLostError):
                    await instance.writer.commit(rows(20_000))
                    break
                await instance.claim()
        await start_again(three, coordinator)
        await instance.stop()
        assert len((await replayed(log)).rows) == 20_000


async def test_leader_and_coordinator_are_killed_and_commits_wait_for_replicas(
    three: KafkaCluster, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with committing(three, topic) as commits:
        leader, coordinator = leader_of(three, topic), await coordinator_of(three, topic)
        killed = {leader, coordinator if coordinator != leader else leader % 3 + 1}
        for broker in killed:
            three.kill_node(broker)
        await asyncio.sleep(8)
        before = len(commits.acknowledged)
        await asyncio.sleep(2)
        assert len(commits.acknowledged) == before, "two replicas are needed"
        await start_again(three, *killed)
    assert f"on the state topic {topic}: NOT_ENOUGH_REPLICAS" in caplog.text


async def test_a_deleted_topic_is_named(three: KafkaCluster, topic: str) -> None:
    async with state_log(three, topic) as log:
        instance = await Instance(log).claim()
        with admin(three) as client:
            client.delete_topics([topic])
        with pytest.raises(StoreLostError, match=f"the state topic {topic} was deleted$"):
            await committed_until_lost(instance)
        with pytest.raises(TopicReplacedError, match="was deleted"):
            await fetched_until_error(log)


async def test_a_topic_that_was_made_anew_is_named(three: KafkaCluster, topic: str) -> None:
    async with state_log(three, topic) as log:
        instance = await Instance(log).claim()
        with admin(three) as client:
            client.delete_topics([topic])
        await until_created(three, topic)
        with pytest.raises(StoreLostError, match=f"the state topic {topic} was deleted"):
            await committed_until_lost(instance)
        with pytest.raises(TopicReplacedError, match=r"was deleted and made again$"):
            await fetched_until_error(log)


async def until_created(three: KafkaCluster, topic: str) -> None:
    async with asyncio.timeout(SECONDS):
        while True:
            with suppress(Exception):
                create(three, topic)
                return
            await asyncio.sleep(0.2)


async def committed_until_lost(instance: Instance) -> None:
    async with asyncio.timeout(SECONDS):
        while True:
            await instance.writer.commit(rows(1))


async def fetched_until_error(log: KafkaStateLog) -> None:
    async with asyncio.timeout(SECONDS):
        while True:
            with suppress(OSError):
                await log.fetch(0)
            await asyncio.sleep(0.1)


async def test_a_topic_that_deletes_records_is_refused(three: KafkaCluster, topic: str) -> None:
    with admin(three) as client:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs={"cleanup.policy": "delete"})
        client.alter_configs([resource])
    with pytest.raises(StateTopicError, match=r"cleanup.policy=delete, which deletes records: set it"):
        await opened_until_refused(three, topic)


async def test_more_replicas_than_brokers_are_refused(three: KafkaCluster) -> None:
    with pytest.raises(StateTopicError, match=r"cannot have 4 replicas .*set state.topic.replication.factor"):
        await opened(three, "__reassignd_wide", 4)


async def test_a_new_topic_has_the_documented_settings(three: KafkaCluster) -> None:
    name = f"__reassignd_new_{next(NUMBERS)}"
    await opened(three, name, 3)
    topic = await opened(three, name, 3)
    assert (topic.partitions, topic.replication) == (1, 3)


async def opened(three: KafkaCluster, topic: str, replication: int):  # type: ignore[no-untyped-def]
    client = client_of(three)
    try:
        return await open_topic(client, topic, replication)
    finally:
        await client.close()


async def opened_until_refused(three: KafkaCluster, topic: str) -> None:
    """Open the topic again and again: the broker that is asked may learn of a changed config later."""
    async with asyncio.timeout(SECONDS):
        while True:
            await opened(three, topic, 3)
            await asyncio.sleep(0.1)


TOPIC_RIGHTS = (
    ACLOperation.READ,
    ACLOperation.WRITE,
    ACLOperation.DESCRIBE,
    ACLOperation.DESCRIBE_CONFIGS,
    ACLOperation.CREATE,
)
ALL_RIGHTS = {
    *((ResourceType.TOPIC, right) for right in TOPIC_RIGHTS),
    *((ResourceType.TRANSACTIONAL_ID, right) for right in (ACLOperation.WRITE, ACLOperation.DESCRIBE)),
}


def grant(three: KafkaCluster, topic: str, rights: set[tuple[ResourceType, ACLOperation]]) -> None:
    """Give the user `nothing` these rights on the topic and on the transactional id."""
    granted = [
        ACL("User:nothing", "*", right, ACLPermissionType.ALLOW, ResourcePattern(kind, topic))
        for kind, right in rights
    ]
    with admin(three) as client:
        client.create_acls(granted)


async def use_everything(three: KafkaCluster, topic: str) -> None:
    """Open the topic, claim the term and commit a transaction, as the user `nothing`. Errors are repeated."""
    client_settings = ClientSettings(security=load(three.client_config(SASL, "nothing")))
    servers = [server.split(":") for server in three.addresses(SASL).split(",")]
    client = UpstreamClient([Address(host, int(port)) for host, port in servers], client_settings)
    try:
        await open_topic(client, topic, 3)
    finally:
        await client.close()
    async with state_log(three, topic, client_settings, SASL) as log:
        instance = await Instance(log).claim()
        try:
            await instance.writer.commit(rows(10_000))
        finally:
            instance.running.cancel()


@pytest.mark.parametrize(
    ("missing", "line"),
    [
        ((ResourceType.TOPIC, ACLOperation.READ), "Fetch .*; grant READ on the topic"),
        ((ResourceType.TOPIC, ACLOperation.WRITE), "Produce .*; grant WRITE on the topic"),
        ((ResourceType.TOPIC, ACLOperation.DESCRIBE_CONFIGS), "grant DESCRIBE_CONFIGS on the topic"),
        ((ResourceType.TOPIC, ACLOperation.CREATE), "grant CREATE on the topic"),
        (
            (ResourceType.TRANSACTIONAL_ID, ACLOperation.WRITE),
            "grant WRITE and DESCRIBE on the transactional",
        ),
    ],
)
async def test_a_missing_right_is_named(
    three: KafkaCluster,
    missing: tuple[ResourceType, ACLOperation],
    line: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    topic = f"__reassignd_rights_{next(NUMBERS)}"
    if missing[1] is not ACLOperation.CREATE:
        create(three, topic)
    grant(three, topic, ALL_RIGHTS - {missing})
    using = asyncio.create_task(use_everything(three, topic))

    def is_named() -> bool:
        refused = [str(using.exception())] if using.done() else []
        return any(topic in text and re.search(line, text) for text in (*refused, *caplog.messages))

    async with asyncio.timeout(SECONDS):
        while not is_named():
            if using.done():
                # The granted rights have not reached all brokers.
                using = asyncio.create_task(use_everything(three, topic))
            await asyncio.sleep(0.1)
    using.cancel()
    with suppress(asyncio.CancelledError, StateTopicError):
        await using


async def test_the_rights_to_read_and_write_include_the_one_to_describe(three: KafkaCluster) -> None:
    topic = f"__reassignd_rights_{next(NUMBERS)}"
    describe = {(kind, ACLOperation.DESCRIBE) for kind in (ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID)}
    grant(three, topic, ALL_RIGHTS - describe)
    await asyncio.wait_for(use_everything(three, topic), SECONDS)


async def test_a_user_without_rights_is_told_the_first_one(three: KafkaCluster) -> None:
    with pytest.raises(StateTopicError, match=r"Metadata .* is refused: grant DESCRIBE on the topic"):
        await use_everything(three, f"__reassignd_rights_{next(NUMBERS)}")


@pytest.mark.parametrize("compression", [None, "gzip"])
async def test_a_foreign_writer_changes_no_row(
    three: KafkaCluster, topic: str, compression: str | None
) -> None:
    async with state_log(three, topic) as log:
        instance = await Instance(log).claim()
        await instance.writer.commit(rows(3, "ours"))
        write(three, topic, b"row-1", compression)
        await instance.writer.commit(rows(1, "later"))
        await instance.stop()
        history = await replayed(log)
        assert [history.rows[key] for key, _ in rows(3) if key] == [b"later", b"ours", b"ours"]
        assert history.foreign_batches == 1
        assert (b"row-1", b"ours") in history.take_repairs()


def write(three: KafkaCluster, topic: str, key: bytes, compression: str | None = None) -> None:
    producer = KafkaProducer(bootstrap_servers=three.bootstrap, compression_type=compression)
    producer.send(topic, key=key, value=b"foreign" * 100).get(30)
    producer.close()


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (b"garbage", "a row of the state topic is not JSON: b'garbage'"),
        (b'["tomorrow", 1]', "the state topic has a row of the unknown kind 'tomorrow'"),
    ],
)
async def test_garbage_before_the_first_claim_is_named(
    three: KafkaCluster, topic: str, key: bytes, line: str
) -> None:
    write(three, topic, key)
    async with state_log(three, topic) as log:
        with pytest.raises(DecodeError, match=line):
            list(decode_records((await replayed(log)).rows.items()))


async def test_another_owner_of_the_transactional_id_is_named(three: KafkaCluster, topic: str) -> None:
    async with state_log(three, topic) as log:
        instance = await Instance(log).claim()
        producer = KafkaProducer(bootstrap_servers=three.bootstrap, transactional_id=topic)
        await asyncio.to_thread(producer.init_transactions)
        producer.begin_transaction()
        producer.send(topic, key=b"row-0", value=b"theirs")
        await asyncio.to_thread(producer.commit_transaction)
        with pytest.raises(
            StoreLostError, match=f"another instance has claimed the transactional id {topic}"
        ):
            await committed_until_lost(instance)
        producer.close()
        again = await Instance(log).claim()
        await again.writer.commit(rows(1, "ours"))
        await again.stop()
        assert (await replayed(log)).rows == {b"row-0": b"ours"}
