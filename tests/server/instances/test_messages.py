"""Forwarded requests as bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.codec.errors import DecodeError
from protocol.frames import RequestFrame
from server.dispatch.context import Caller
from server.instances.messages import decode_forwarded, encode_forwarded
from tests.server.fakes import FakeBroker
from tests.server.instances.doubles import LIST, frame_of

CALLER = Caller(FakeBroker(2), "User:alice", "10.0.0.9:4711")


@given(st.binary(), st.none() | st.text(), st.text(), st.integers(-(2**31), 2**31 - 1))
def test_a_request_arrives_with_its_client(
    body: bytes, client_id: str | None, principal: str, correlation_id: int
) -> None:
    frame = RequestFrame(45, 1, correlation_id, client_id, memoryview(body), True)
    caller = Caller(FakeBroker(-1), principal, "[::1]:4711")
    received, sender = decode_forwarded(encode_forwarded(frame, caller), "first")
    assert received == frame
    assert (sender.broker.id, *sender[1:]) == (-1, principal, "[::1]:4711", None, "first")


def test_a_request_of_a_client_keeps_its_bytes() -> None:
    frame = frame_of(LIST)
    received, _ = decode_forwarded(encode_forwarded(frame, CALLER), "first")
    assert bytes(received.body) == bytes(frame.body)


@pytest.mark.parametrize(("key", "version"), [(45, 99), (999, 0)])
def test_an_unknown_version_of_a_newer_instance_is_marked(key: int, version: int) -> None:
    frame = RequestFrame(key, version, 1, None, memoryview(b""), True)
    assert not decode_forwarded(encode_forwarded(frame, CALLER), "first")[0].known


@pytest.mark.parametrize("garbage", [b"", b"\0\0", b"\0\0\0\x02{}", b"\0\0\0\xff{}"])
def test_garbage_is_refused(garbage: bytes) -> None:
    with pytest.raises(DecodeError, match="a forwarded request without a header"):
        decode_forwarded(garbage, "first")
