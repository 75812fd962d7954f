"""The proxy knows whose connection it is, and when a row is late."""

import os
import socket
import subprocess
import sys

import pytest

from backends.state_topic.claim import Claim
from campaigns.recording_proxy import LateRow, RecordingProxy, owner_of
from protocol.frames import encode_request, encode_response, parse_request
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.produce_response import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from protocol.record_batch import Producer, encode_batch

VERSION = 9


def claim(term: int) -> bytes:
    made = Claim(instance="i", term=term, producer_id=1, producer_epoch=term, replaces=None, session_ms=3000)
    batch = encode_batch([made.encode()], Producer(1, term), 0, 0)
    topics = (TopicProduceData("state", partition_data=(PartitionProduceData(0, batch),)),)
    return encode_request(ProduceRequest(None, -1, 1000, topics), VERSION, 5, "c")[4:]


def step(rows: int = 1) -> bytes:
    partitions = [ReassignablePartition(number, (1, 2)) for number in range(rows)]
    topics = [ReassignableTopic("foo", partitions)] if rows else []
    return encode_request(AlterPartitionReassignmentsRequest(topics=topics), 0, 6, "c")[4:]


@pytest.fixture
def proxy() -> RecordingProxy:
    return RecordingProxy([])


def acknowledge(proxy: RecordingProxy, term: int, pid: int, code: int = 0) -> None:
    claims: dict[int, tuple[int, int]] = {}
    payload = claim(term)
    proxy._record(payload, pid, claims)
    rows = (TopicProduceResponse("state", partition_responses=(PartitionProduceResponse(0, code, 0),)),)
    answer = encode_response(parse_request(payload), ProduceResponse(responses=rows))
    proxy._acknowledge(answer[4:], pid, *claims[5])


def test_a_step_of_the_active_instance_is_counted(proxy: RecordingProxy) -> None:
    acknowledge(proxy, 1, pid=10)
    proxy._record(step(3), 10, {})
    assert (proxy.rows, proxy.late, proxy.claims) == (3, [], [(1, 10)])


def test_a_step_after_the_claim_of_another_instance_is_late(proxy: RecordingProxy) -> None:
    acknowledge(proxy, 1, pid=10)
    acknowledge(proxy, 2, pid=20)
    proxy._record(step(), 10, {})
    assert proxy.late == [LateRow(10, 1, 2)]


def test_a_refused_claim_and_an_empty_request_prove_nothing(proxy: RecordingProxy) -> None:
    acknowledge(proxy, 1, pid=10)
    acknowledge(proxy, 2, pid=20, code=47)
    proxy._record(step(0), 20, {})
    proxy._record(step(), 10, {})
    assert proxy.late == []


def test_the_process_of_a_connection_is_found() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as connected,
    ):
        ports = connected.getsockname()[1], server.getsockname()[1]
        assert owner_of(*ports, [os.getpid()]) == os.getpid()
        assert owner_of(*ports, []) == 0


CONNECT_FROM = """
import socket, sys
port, to = map(int, sys.argv[1:])
connection = socket.socket()
connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
connection.bind(("127.0.0.1", port))
connection.connect(("127.0.0.1", to))
print("connected", flush=True)
sys.stdin.read()
"""


def test_two_processes_may_connect_from_the_same_port() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as other,
        socket.socket() as connected,
    ):
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        connected.bind(("127.0.0.1", 0))
        connected.connect(one.getsockname())
        port, to = connected.getsockname()[1], other.getsockname()[1]
        command = [sys.executable, "-c", CONNECT_FROM, str(port), str(to)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"connected\n"
            both = [process.pid, os.getpid()]
            assert owner_of(port, one.getsockname()[1], both) == os.getpid()
            assert owner_of(port, to, both[::-1]) == process.pid
