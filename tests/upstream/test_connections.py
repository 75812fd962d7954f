"""reassignd's connections to real brokers: Kafka 4.1 without security, Kafka 4.3 with SASL and TLS."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from backends.client.errors import (
    AuthenticationError,
    BrokerError,
    InDoubtError,
    UnreachableError,
    UnsupportedError,
)
from backends.client.handshake import ClientSettings
from backends.client.security import Credentials, Security
from backends.upstream.client import UpstreamClient
from common.error_codes import ErrorCode
from protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest, TopicRequest
from protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.leader_and_isr_request import LeaderAndIsrRequest
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from reassignd.config.command_config import load
from tests.upstream.conftest import bootstrap
from tests.upstream.topics import create, until
from tools.kafka_cluster import KafkaCluster

LIST = ListPartitionReassignmentsRequest()
NO_MOVE = AlterPartitionReassignmentsRequest(topics=())
DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
BROKER = 4


@asynccontextmanager
async def connected(
    cluster: KafkaCluster, listener: str, principal: str, mechanism: str = "SCRAM-SHA-256"
) -> AsyncIterator[UpstreamClient]:
    """A client with the --command-config file of Kafka's tools."""
    security = load(cluster.client_config(listener, principal, mechanism))
    client = UpstreamClient([bootstrap(cluster, listener)], ClientSettings(security=security))
    yield client
    await client.close()


async def refusal(cluster: KafkaCluster, listener: str, security: Security, kind: type[BrokerError]) -> str:
    client = UpstreamClient([bootstrap(cluster, listener)], ClientSettings(security=security))
    with pytest.raises(kind) as refused:
        await client.refresh()
    await client.close()
    return str(refused.value)


async def test_metadata_has_brokers_and_racks(client: UpstreamClient, kafka: KafkaCluster) -> None:
    assert sorted(client.brokers) == [1, 2, 3, 4]
    assert {client.brokers[id_].rack for id_ in kafka.brokers} == {"rack-0", "rack-1", "rack-2"}
    assert client.controller_id in client.brokers


async def test_each_broker_describes_its_log_directories(client: UpstreamClient, kafka: KafkaCluster) -> None:
    answers = [await client.ask(DescribeLogDirsRequest(None), broker) for broker in kafka.brokers]
    assert [len(answer.results) for answer in answers] == [2, 2, 2, 2]
    assert all(row.total_bytes > row.usable_bytes > 0 for answer in answers for row in answer.results)


async def test_a_topic_is_described_and_its_leader_elected(client: UpstreamClient) -> None:
    topic = await create(client, [(2, 3)])
    described = await client.ask(DescribeTopicPartitionsRequest([TopicRequest(topic)]))
    assert described.topics[0].partitions[0].replica_nodes == (2, 3)
    elected = await client.ask(ElectLeadersRequest(0, [TopicPartitions(topic, (0,))], 10_000))
    (row,) = elected.replica_election_results[0].partition_result
    assert row.error_code == ErrorCode.ELECTION_NOT_NEEDED


async def test_a_config_is_set_and_read(client: UpstreamClient) -> None:
    rate = AlterableConfig("leader.replication.throttled.rate", 0, "1000")
    change = IncrementalAlterConfigsRequest([AlterConfigsResource(4, "2", [rate])])
    assert (await client.ask(change, 2)).responses[0].error_code == 0
    query = DescribeConfigsRequest([DescribeConfigsResource(4, "2", [rate.name])])

    async def values() -> list[str | None]:
        return [row.value for row in (await client.ask(query, 2)).results[0].configs]

    await until(values, ["1000"])
    deletion = IncrementalAlterConfigsRequest(
        [AlterConfigsResource(4, "2", [rate._replace(config_operation=1)])]
    )
    assert (await client.ask(deletion, 2)).responses[0].error_code == 0


async def test_an_unsupported_api_is_named_in_the_error(client: UpstreamClient) -> None:
    with pytest.raises(UnsupportedError, match=r"127\.0\.0\.1:\d+ does not serve LeaderAndIsr"):
        await client.ask(LeaderAndIsrRequest())


async def test_many_requests_at_once_over_one_connection(client: UpstreamClient) -> None:
    answers = await asyncio.gather(*(client.ask(LIST, 1) for _ in range(200)))
    assert {answer.error_code for answer in answers} == {0}


async def test_a_killed_broker_is_skipped_reported_as_fenced_and_used_again(
    client: UpstreamClient, kafka: KafkaCluster
) -> None:
    await client.ask(LIST, BROKER)
    client.controller_id = BROKER
    kafka.kill_node(BROKER)
    try:
        assert (await client.ask(LIST)).error_code == 0
        with pytest.raises(UnreachableError, match="cannot connect"):
            await client.ask(NO_MOVE, BROKER)
        await until(fenced_brokers(client), [BROKER])
    finally:
        kafka.start_node(BROKER)
        await asyncio.to_thread(kafka.wait_ready)
    await until(fenced_brokers(client), [])
    await until(responds(client, BROKER), expected=True)


def fenced_brokers(client: UpstreamClient) -> Callable[[], object]:
    async def probe() -> list[int]:
        await client.refresh()
        return [broker.id for broker in client.brokers.values() if broker.fenced]

    return probe


def responds(client: UpstreamClient, broker: int) -> Callable[[], object]:
    async def probe() -> bool:
        try:
            return bool((await client.ask(LIST, broker)).error_code == 0)
        except BrokerError:
            return False

    return probe


@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"])
async def test_each_sasl_mechanism_logs_in(secured: KafkaCluster, listener: str, mechanism: str) -> None:
    async with connected(secured, listener, "admin", mechanism) as client:
        await client.refresh()
        assert sorted(client.brokers) == [1, 2]
        answers = [await client.ask(NO_MOVE, broker) for broker in client.brokers]
        assert [answer.error_code for answer in answers] == [0, 0]


ERROR_CODES = [("admin", 0, 0), ("alter", 0, 0), ("describe", DENIED, 0), ("nothing", DENIED, DENIED)]


@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SSL"])
@pytest.mark.parametrize(("principal", "alter", "describe"), ERROR_CODES)
async def test_each_principal_has_its_own_rights(
    secured: KafkaCluster, listener: str, principal: str, alter: int, describe: int
) -> None:
    async with connected(secured, listener, principal) as client:
        assert (await client.ask(NO_MOVE)).error_code == alter
        assert (await client.ask(LIST)).error_code == describe


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "PLAIN"])
@pytest.mark.parametrize("user", ["admin", "nobody"])
async def test_a_wrong_password_is_reported_in_one_line(
    secured: KafkaCluster, mechanism: str, user: str
) -> None:
    wrong = Security(sasl=Credentials(mechanism, user, "wrong"))
    message = await refusal(secured, "SASL_PLAINTEXT", wrong, AuthenticationError)
    assert f" refused {user} by {mechanism}: Authentication failed" in message
    assert "\n" not in message


async def test_a_mechanism_that_is_not_enabled_is_named(secured: KafkaCluster) -> None:
    other = Security(sasl=Credentials("PLAIN", "admin", "admin-secret"))
    message = await refusal(secured, "PLAINTEXT", other, AuthenticationError)
    assert message.endswith("asks for no SASL (error 34): set security.protocol")


async def test_a_missing_sasl_login_is_recognised(secured: KafkaCluster) -> None:
    message = await refusal(secured, "SASL_PLAINTEXT", Security(), InDoubtError)
    assert message.endswith("the listener may require SASL: set security.protocol")


async def test_a_tls_port_is_recognised(secured: KafkaCluster) -> None:
    message = await refusal(secured, "SSL", Security(), UnreachableError)
    assert message.endswith("if it is a TLS port, set security.protocol")


async def test_a_port_without_tls_is_recognised(secured: KafkaCluster) -> None:
    tls = load(secured.client_config("SSL", "admin"))
    message = await refusal(secured, "PLAINTEXT", tls, UnreachableError)
    assert message.endswith("if it is a port without TLS, set security.protocol")


async def test_a_missing_client_certificate_is_recognised(secured: KafkaCluster) -> None:
    without = Security(tls=load(secured.client_config("SASL_SSL", "admin")).tls)
    message = await refusal(secured, "SSL", without, BrokerError)
    assert "certificate" in message


async def test_an_authority_that_is_not_trusted_is_refused(secured: KafkaCluster, tmp_path: Path) -> None:
    properties = tmp_path / "system-trust.properties"
    properties.write_text("security.protocol=SSL\n")
    message = await refusal(secured, "SSL", load(properties), AuthenticationError)
    assert "the certificate of localhost" in message
    assert "is not to be trusted" in message


async def test_a_connection_reauthenticates_in_time(secured: KafkaCluster) -> None:
    async with connected(secured, "SASL_PLAINTEXT", "admin", "SCRAM-SHA-512") as client:
        await client.refresh()
        start = time.monotonic()
        # Longer than connections.max.reauth.ms; a closed connection would raise an error here.
        while time.monotonic() - start < 5:
            assert (await client.ask(NO_MOVE, 1)).error_code == 0
            await asyncio.sleep(0.1)
