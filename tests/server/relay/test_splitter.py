"""Frames of a stream pass, are replaced or buffered, however the bytes are split."""

from collections.abc import Callable, Sequence
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.codec.errors import DecodeError
from server.relay.splitter import PASS, FrameAction, Splitter

MAX = 1000


def frame(payload: bytes) -> bytes:
    return pack(">i", len(payload)) + payload


def by_first_letter(came: memoryview, size: int) -> FrameAction | int:
    """Frames by their first byte: p passes, r is replaced, and of h the first four bytes are replaced."""
    if not came:
        return 1
    match chr(came[0]):
        case "r":
            return FrameAction(4 + size, b"<%d>" % size) if len(came) == size else size
        case "h":
            return FrameAction(8, b"<head>") if len(came) >= 4 else 4
        case _:
            return PASS


class Rig:
    def __init__(self, decide: Callable[[memoryview, int], FrameAction | int] = by_first_letter) -> None:
        self.written: list[bytes] = []
        self.splitter = Splitter(decide, lambda data: self.written.append(bytes(data)), MAX)

    @property
    def text(self) -> bytes:
        return b"".join(self.written)


def expected(payloads: Sequence[bytes]) -> bytes:
    parts = []
    for payload in payloads:
        match chr(payload[0]):
            case "r":
                parts.append(b"<%d>" % len(payload))
            case "h":
                parts.append(b"<head>" + payload[4:])
            case _:
                parts.append(frame(payload))
    return b"".join(parts)


PAYLOADS = st.lists(
    st.tuples(st.sampled_from([b"pass", b"repl", b"head"]), st.binary(max_size=40)).map(b"".join)
)


@given(PAYLOADS, st.lists(st.integers(1, 50), max_size=30))
def test_the_output_does_not_depend_on_how_the_input_is_split(payloads: list[bytes], cuts: list[int]) -> None:
    rig = Rig()
    stream = b"".join(map(frame, payloads))
    for size in cuts:
        rig.splitter.feed(stream[:size])
        stream = stream[size:]
    rig.splitter.feed(stream)
    assert rig.text == expected(payloads)
    assert not rig.splitter.incomplete
    assert rig.splitter.frames == len(payloads)


def test_passing_bytes_are_written_in_one_piece() -> None:
    rig = Rig()
    rig.splitter.feed(frame(b"p1") + frame(b"p2") + frame(b"p3" * 100)[:50])
    assert len(rig.written) == 1


def test_a_passing_frame_is_not_buffered() -> None:
    rig = Rig()
    rig.splitter.feed(frame(b"p" * 500)[:100])
    assert len(rig.text) == 100
    assert not rig.splitter.incomplete


def test_a_decision_waits_for_the_bytes_that_it_needs() -> None:
    seen: list[int] = []

    def decide(came: memoryview, size: int) -> FrameAction | int:
        seen.append(len(came))
        return PASS if len(came) == size else size

    rig = Rig(decide)
    for byte in frame(b"x" * 100):
        rig.splitter.feed(bytes([byte]))
    assert seen == [0, 100]
    assert rig.text == frame(b"x" * 100)


def test_an_incomplete_frame_is_reported() -> None:
    rig = Rig()
    rig.splitter.feed(frame(b"r123")[:6])
    assert rig.splitter.incomplete
    rig.splitter.feed(frame(b"r123")[6:])
    assert not rig.splitter.incomplete


def test_nothing_passes_while_the_splitter_is_stopped() -> None:
    rig = Rig()

    def stop_at_r(came: memoryview, size: int) -> FrameAction | int:
        verdict = by_first_letter(came, size)
        if came and came[0] == ord("r"):
            rig.splitter.stop()
        return verdict

    rig.splitter = Splitter(stop_at_r, lambda data: rig.written.append(bytes(data)), MAX)
    rig.splitter.feed(frame(b"p1") + frame(b"r") + frame(b"p2"))
    rig.splitter.feed(frame(b"p3"))
    assert rig.text == frame(b"p1") + b"<1>"
    assert not rig.splitter.incomplete
    rig.splitter.resume(b"ours")
    assert rig.text == frame(b"p1") + b"<1>ours" + frame(b"p2") + frame(b"p3")


def test_a_splitter_can_be_stopped_before_its_first_bytes() -> None:
    rig = Rig()
    rig.splitter = Splitter(by_first_letter, lambda data: rig.written.append(bytes(data)), MAX, stopped=True)
    rig.splitter.feed(frame(b"p1"))
    assert rig.written == []
    rig.splitter.resume()
    assert rig.text == frame(b"p1")


@pytest.mark.parametrize("size", [-1, MAX + 1, 2**31 - 1])
def test_an_invalid_length_is_refused(size: int) -> None:
    rig = Rig()
    with pytest.raises(DecodeError, match=f"a frame of {size} bytes, where {MAX} are allowed"):
        rig.splitter.feed(pack(">i", size) + b"p")
    assert rig.written == []
