"""Kafka's and kafka-python's clients through the gateway.

No record is lost, and no client learns an address of a broker.
"""

import socket
import subprocess
import time
from collections.abc import Iterator
from struct import pack

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.record.default_records import DefaultRecordBatchBuilder

from common.error_codes import ErrorCode
from protocol.codec.wire import codec
from protocol.codec.writing import varint
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.produce_response import ProduceResponse
from tests.clients.java_programs import JavaAdmin, JavaClient
from tests.upstream.traffic import Traffic
from tools.java import java_command
from tools.kafka_cluster import KafkaCluster, admin_client
from tools.processes import Reassignd
from tools.raw_connection import RawConnection, address, encode

SECONDS = 90
FOUR = [[1, 2], [2, 3], [3, 4], [4, 1]]


@pytest.fixture(scope="module")
def admin(gateway: Reassignd) -> Iterator[JavaAdmin]:
    with JavaAdmin(gateway.bootstrap) as shell:
        yield shell


@pytest.fixture(scope="module")
def java(gateway: Reassignd) -> Iterator[JavaClient]:
    with JavaClient(gateway.bootstrap) as shell:
        yield shell


@pytest.fixture
def topic(admin: JavaAdmin, request: pytest.FixtureRequest) -> str:
    """A topic with a partition for each broker as the leader, named after the test."""
    name = request.node.name.replace("[", "-").replace("]", "")[-200:]
    admin.do("create", topic=name, assignment=FOUR)
    return str(name)


@pytest.mark.tour
def test_the_producer_and_consumer_of_kafka_python_lose_no_record(gateway: Reassignd, topic: str) -> None:
    with Traffic(gateway.bootstrap, topic, partitions=4, per_second=500) as traffic:
        traffic.wait_for(1000)
    traffic.check()


def test_records_with_acks_0_arrive(gateway: Reassignd, topic: str) -> None:
    producer = KafkaProducer(bootstrap_servers=gateway.bootstrap, acks=0, enable_idempotence=False)
    for number in range(500):
        producer.send(topic, value=b"%d" % number)
    producer.flush()
    producer.close()
    assert len(read(gateway, topic, 500)) == 500


def test_aborted_transactions_of_kafka_python_are_not_read(gateway: Reassignd, topic: str) -> None:
    producer = KafkaProducer(bootstrap_servers=gateway.bootstrap, transactional_id=topic)
    producer.init_transactions()
    for number in range(4):
        producer.begin_transaction()
        producer.send(topic, value=b"%d" % number)
        (producer.abort_transaction if number % 2 else producer.commit_transaction)()
    producer.close()
    assert read(gateway, topic, 2) == [b"0", b"2"]


def read(gateway: Reassignd, topic: str, count: int) -> list[bytes]:
    """Read this number of records as a member of a consumer group, and return them sorted."""
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=gateway.bootstrap,
        group_id=f"of-{topic}",
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        consumer_timeout_ms=SECONDS * 1000,
    )
    values = [next(consumer).value for _ in range(count)]
    consumer.close()
    return sorted(values)


def test_aborted_transactions_of_the_java_client_are_not_read(java: JavaClient, topic: str) -> None:
    assert java.do("transactions", topic=topic, count=6) == 6
    expected = sorted(f"{number}-{record}" for number in (0, 2, 4) for record in range(10))
    assert sorted(java.do("read", topic=topic, count=30)) == expected


def test_offsets_and_records_are_committed_in_one_transaction(
    admin: JavaAdmin, java: JavaClient, topic: str
) -> None:
    copy = f"{topic}-copy"
    admin.do("create", topic=copy, assignment=FOUR)
    java.do("transactions", topic=topic, count=1)
    copied = java.do("copy", topic=topic, to=copy)
    assert copied > 0
    assert len(java.do("read", topic=copy, count=copied)) == copied


def console(tool: str, gateway: Reassignd, topic: str, *arguments: str, stdin: str = "") -> str:
    """Run a console client and return its output."""
    options = ["--bootstrap-server", gateway.bootstrap, "--topic", topic]
    command = java_command("tools-4.3", f"org.apache.kafka.tools.{tool}", *options, *arguments)
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=SECONDS, check=True)
    return done.stdout


def test_the_console_producer_and_consumer_work(gateway: Reassignd, topic: str) -> None:
    lines = [f"line {number}" for number in range(20)]
    console("ConsoleProducer", gateway, topic, stdin="\n".join(lines) + "\n")
    printed = console("consumer.ConsoleConsumer", gateway, topic, "--from-beginning", "--max-messages", "20")
    assert sorted(printed.splitlines()) == sorted(lines)


def test_large_responses_are_relayed(gateway: Reassignd, topic: str) -> None:
    producer = KafkaProducer(bootstrap_servers=gateway.bootstrap, max_request_size=1_000_000)
    values = [bytes([number]) * 900_000 for number in range(8)]
    for value in values:
        producer.send(topic, value=value, partition=0)
    producer.flush()
    producer.close()
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=gateway.bootstrap,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=30_000_000,
        consumer_timeout_ms=SECONDS * 1000,
    )
    assert [next(consumer).value for _ in values] == values
    consumer.close()


def test_clients_never_learn_the_addresses_of_brokers(gateway: Reassignd, kafka: KafkaCluster) -> None:
    real = {kafka.address(broker) for broker in kafka.brokers}
    with admin_client(gateway.bootstrap) as client:
        for _ in range(40):
            described = {
                f"{broker['host']}:{broker['port']}" for broker in client.describe_cluster()["brokers"]
            }
            known = {f"{broker.host}:{broker.port}" for broker in client._manager.cluster.brokers()}
            assert len(described) == 4
            assert not (described | known) & real


@pytest.mark.parametrize("version", [10, 11, 12])
def test_a_new_leader_is_reported_at_its_gateway_port(
    gateway: Reassignd, kafka: KafkaCluster, topic: str, version: int
) -> None:
    host, _, own = gateway.bootstrap.partition(":")
    wrong_broker = f"{host}:{int(own) + 2}"
    response = produce_response(RawConnection(wrong_broker), topic, version)
    assert response.responses[0].partition_responses[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert [(broker.node_id, broker.host, broker.port) for broker in response.node_endpoints] == [
        (1, host, int(own) + 1)
    ]


def produce_response(connection: RawConnection, topic: str, version: int) -> ProduceResponse:
    """Send a record until the broker knows the topic, and return the response."""
    deadline = time.monotonic() + SECONDS
    while True:
        _, answer = connection.timed(produce_request(topic, version))
        response = codec(ProduceResponse, version).decode(answer[5:])
        unknown = (
            response.responses[0].partition_responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        )
        if not unknown or time.monotonic() > deadline:
            connection.close()
            return response


def produce_request(topic: str, version: int) -> bytes:
    """Return the frame of a produce request with one record for partition 0, acks=all."""
    batch = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 16_384)
    batch.append(0, None, None, b"value", [])
    records, name = bytes(batch.build()), topic.encode()
    rows = b"\x02" + pack(">i", 0) + varint(len(records) + 1) + records + b"\0"
    topics = b"\x02" + varint(len(name) + 1) + name + rows + b"\0"
    body = pack(">hhih", 0, version, 7, -1) + b"\0" + b"\0" + pack(">hi", -1, 10_000) + topics + b"\0"
    return pack(">i", len(body)) + body


def test_a_restarted_broker_is_used_again(gateway: Reassignd, kafka: KafkaCluster, topic: str) -> None:
    with Traffic(gateway.bootstrap, topic, partitions=4) as traffic:
        traffic.wait_for(100)
        with kafka.without(4):
            traffic.wait_for(100)
        traffic.wait_for(200)
    traffic.check()


@pytest.mark.parametrize("listed_by", ["broker", "its port here", "the first port"])
def test_a_half_closed_connection_is_closed(gateway: Reassignd, kafka: KafkaCluster, listed_by: str) -> None:
    host, _, own = gateway.bootstrap.rpartition(":")
    ports = {
        "broker": kafka.bootstrap,
        "its port here": f"{host}:{int(own) + 1}",
        "the first port": gateway.bootstrap,
    }
    with socket.create_connection(address(ports[listed_by]), timeout=10) as half:
        half.sendall(encode(ListPartitionReassignmentsRequest(), 0)[:-2])
        half.shutdown(socket.SHUT_WR)
        assert half.recv(1) == b""
