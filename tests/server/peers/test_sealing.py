"""Frames that only the peer can have made, in their order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import DecodeError
from server.peers.sealing import CHUNK, SIZE, Message, Opener, Sealer

KEY = b"k" * 32
LARGEST = 10 * CHUNK


def frames(sealer: Sealer, message: Message) -> list[bytes]:
    return [frame[SIZE.size :] for frame in sealer.frames(message)]


def opened(opener: Opener, sealed: list[bytes]) -> list[Message]:
    return [message for frame in sealed if (message := opener.open(frame)) is not None]


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 2**32 - 1), st.binary(max_size=100))))
def test_messages_arrive_as_they_were_sent(sent: list[tuple[int, int, bytes]]) -> None:
    sealer, opener = Sealer(KEY), Opener(KEY, LARGEST)
    messages = [Message(*each) for each in sent]
    assert [opened(opener, frames(sealer, each)) for each in messages] == [[each] for each in messages]


@pytest.mark.parametrize("size", [CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK])
def test_a_large_message_is_sent_in_chunks(size: int) -> None:
    message = Message(2, 7, bytes(range(256)) * (size // 256) + b"x" * (size % 256))
    sealed = frames(Sealer(KEY), message)
    assert len(sealed) == -(-size // CHUNK)
    opener = Opener(KEY, LARGEST)
    assert opened(opener, sealed) == [message]
    assert opener.held == 0


def test_a_small_message_may_pass_between_the_chunks_of_a_large_one() -> None:
    sealer, opener = Sealer(KEY), Opener(KEY, LARGEST)
    large, small = Message(2, 1, b"x" * (2 * CHUNK)), Message(2, 2, b"y")
    chunks = sealer.frames(large)
    sealed = [next(chunks), *sealer.frames(small), next(chunks)]
    assert opened(opener, [frame[SIZE.size :] for frame in sealed]) == [small, large]


def test_a_frame_cannot_be_changed_repeated_left_out_or_reflected() -> None:
    first, second = (frames(Sealer(KEY), Message(1, n, b"data"))[0] for n in (1, 2))
    changed = first[:-1] + b"x"
    with pytest.raises(DecodeError, match="not sealed by the peer"):
        Opener(KEY, LARGEST).open(changed)
    with pytest.raises(DecodeError, match="not sealed by the peer"):
        Opener(b"another key", LARGEST).open(first)
    opener = Opener(KEY, LARGEST)
    opener.open(first)
    for wrong in (first, second):
        with pytest.raises(DecodeError, match="not sealed by the peer"):
            opener.open(wrong)


def test_a_frame_that_is_too_short_is_refused() -> None:
    with pytest.raises(DecodeError, match="not sealed by the peer"):
        Opener(KEY, LARGEST).open(b"short")


def test_incomplete_messages_are_bounded_together() -> None:
    sealer, opener = Sealer(KEY), Opener(KEY, CHUNK)
    opener.open(next(sealer.frames(Message(1, 1, b"x" * 2 * CHUNK)))[SIZE.size :])
    with pytest.raises(DecodeError, match=f"messages of more than {CHUNK} bytes"):
        opener.open(next(sealer.frames(Message(1, 2, b"x" * 2 * CHUNK)))[SIZE.size :])
