import socket
from collections.abc import Iterator
from struct import pack, unpack
from threading import Thread

import pytest

from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from tools.raw_connection import RawConnection, address, encode, encode_as

REQUEST = ListPartitionReassignmentsRequest(topics=())


def answer_once(listener: socket.socket, answer: bytes) -> None:
    connection, _ = listener.accept()
    with connection:
        (size,) = unpack(">i", connection.recv(4, socket.MSG_WAITALL))
        connection.recv(size, socket.MSG_WAITALL)
        connection.sendall(answer)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def timed(listener: socket.socket, answer: bytes) -> bytes:
    server = Thread(target=answer_once, args=(listener, answer))
    server.start()
    connection = RawConnection(f"127.0.0.1:{listener.getsockname()[1]}")
    try:
        return connection.timed(encode(REQUEST, 0))[1]
    finally:
        connection.close()
        server.join()


def test_the_answer_is_returned_without_its_length(listener: socket.socket) -> None:
    assert timed(listener, pack(">i", 3) + b"abc") == b"abc"


def test_a_closed_connection_is_an_error(listener: socket.socket) -> None:
    with pytest.raises(ConnectionError, match="closed"):
        timed(listener, pack(">i", 3) + b"a")


def test_a_frame_names_its_client() -> None:
    assert b"another" in encode_as(REQUEST, 0, "another")


def test_an_address_is_host_and_port() -> None:
    assert address("127.0.0.1:9092") == ("127.0.0.1", 9092)
