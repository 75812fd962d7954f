"""A command is the active instance while it moves records."""

import asyncio
from itertools import count

import pytest

from backends.state_topic.claim import Claim
from backends.state_topic.log import Fetched
from protocol.codec.errors import DecodeError
from protocol.record_batch import BatchRecord, Producer
from reassignd.config.errors import CommandError
from reassignd.transfer import topic as module
from tests.backends.state_topic.builders import a_claim
from tests.reassignd.transfer.builders import Cluster, an_entry


async def test_a_term_is_released_after_the_move() -> None:
    cluster = Cluster()
    topic = cluster.topic()
    async with topic.term() as writer:
        await topic.write(writer, [BatchRecord(b"[1]", b"{}")])
    await topic.read()
    assert topic.rows == {b"[1]": b"{}"}
    claim = topic._history.claim
    assert isinstance(claim, Claim)
    assert (claim.term, claim.released) == (1, True)


async def test_an_active_instance_is_named() -> None:
    cluster = Cluster()
    claim = a_claim(producer=await cluster.state.new_epoch(), instance="gateway-1", session_ms=600)

    async def beat() -> None:
        for sequence in count():
            await cluster.state.append([claim.encode()], claim.producer, sequence)
            await asyncio.sleep(0.1)

    beating = asyncio.create_task(beat())
    with pytest.raises(CommandError, match="instance gateway-1 is active: stop all instances"):
        async with cluster.topic().term():
            pass
    beating.cancel()
    async with cluster.topic().term():
        pass


async def test_a_topic_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fetch(_: int, *, wait: bool = True) -> Fetched:
        raise OSError

    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.1)
    cluster = Cluster()
    monkeypatch.setattr(cluster.state, "fetch", fetch)
    with pytest.raises(CommandError, match="the state topic state does not answer"):
        async with cluster.topic().term():
            pass


async def test_entries_of_both_topics_are_read_once() -> None:
    cluster = Cluster()
    topic = cluster.topic()
    await topic.append_entries([an_entry(2), an_entry(1)])
    await topic.append_entries([an_entry(2)])
    assert await topic.entries() == [an_entry(1), an_entry(2)]


async def test_an_audit_topic_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fetch(_: int, *, wait: bool = True) -> Fetched:
        raise DecodeError("the batch at offset 0 has 0 bytes")

    cluster = Cluster()
    monkeypatch.setattr(cluster.audit, "fetch", fetch)
    with pytest.raises(CommandError, match="the audit log cannot be read: the batch at offset 0 has 0 bytes"):
        await cluster.topic().entries()


async def test_a_batch_that_cannot_be_read_is_named() -> None:
    cluster = Cluster()
    cluster.state.log.add(BatchRecord(None, b"garbage"), producer=Producer(9, 0))
    with pytest.raises(CommandError, match="has no key"):
        await cluster.topic().read()
