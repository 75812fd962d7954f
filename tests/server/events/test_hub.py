"""Readers of the event stream: bounds, ends and heartbeats."""

import json
from collections.abc import AsyncIterator

import pytest

from controller.model.cluster import Paused
from controller.modes import EMBEDDED
from controller.state.state import Decision, State
from server.events import hub as hubs
from server.events.hub import COMMENT, EventHub, Reader, TooManyReadersError


@pytest.fixture
def hub() -> EventHub:
    return EventHub(State(mode=EMBEDDED), lambda: "cluster-1")


def pause(hub: EventHub, *, paused: bool = True) -> None:
    decision = Decision(State(mode=EMBEDDED))
    decision.put(Paused(paused))
    hub.publish(decision)


def names(frames: list[bytes]) -> list[str]:
    return [frame.partition(b"\n")[0].decode().removeprefix("event: ") for frame in frames]


async def take(frames: AsyncIterator[bytes], sends: int = 1) -> list[bytes]:
    """Return the events of so many sends."""
    return [each + b"\n\n" for _ in range(sends) for each in (await anext(frames)).split(b"\n\n")[:-1]]


async def rest(reader: Reader) -> list[bytes]:
    """Return everything that waits for a reader whose stream ends."""
    frames = reader.frames(str)
    events = await take(frames)
    assert [each async for each in frames] == []
    return events


async def test_the_first_event_names_the_cluster(hub: EventHub) -> None:
    [first] = await take(hub.open().frames(str))
    assert first == b'event: start\ndata: {"event":"start","cluster_id":"cluster-1"}\n\n'


async def test_all_readers_get_the_events_after_their_start(hub: EventHub) -> None:
    early = hub.open()
    pause(hub)
    late = hub.open()
    pause(hub, paused=False)
    assert names(await take(early.frames(str))) == ["start", "paused", "paused"]
    assert names(await take(late.frames(str))) == ["start", "paused"]


async def test_events_that_wait_are_sent_together(hub: EventHub) -> None:
    frames = hub.open().frames(str)
    pause(hub)
    assert (await anext(frames)).count(b"event: ") == 2
    pause(hub)
    assert (await anext(frames)).count(b"event: ") == 1


async def test_a_slow_reader_gets_only_the_reason_of_its_end(
    hub: EventHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "MAX_BYTES", 200)
    slow = hub.open()
    for _ in range(10):
        pause(hub)
    [last] = await rest(slow)
    assert json.loads(last.partition(b"data: ")[2])["reason"].startswith("the reader is too slow")


async def test_a_reader_in_time_is_not_dropped(hub: EventHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "MAX_BYTES", 200)
    frames = hub.open().frames(str)
    await take(frames)
    for _ in range(10):
        pause(hub)
        assert names(await take(frames)) == ["paused"]


async def test_a_stop_ends_all_streams_after_the_waiting_events(hub: EventHub) -> None:
    reader = hub.open()
    pause(hub)
    hub.stop()
    pause(hub)
    assert names(await rest(reader)) == ["start", "paused", "end"]
    assert names(await rest(hub.open())) == ["start", "end"]


async def test_the_number_of_readers_is_bounded(hub: EventHub) -> None:
    readers = [hub.open() for _ in range(hubs.MAX_READERS)]
    with pytest.raises(TooManyReadersError):
        hub.open()
    hub.close(readers[0])
    hub.open()


async def test_a_comment_is_sent_when_there_are_no_events(
    hub: EventHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "HEARTBEAT_SECONDS", 0.01)
    assert (await take(hub.open().frames(str), 3))[1:] == [COMMENT, COMMENT]


async def test_the_last_event_of_a_client_without_permission_has_the_reason(
    hub: EventHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "HEARTBEAT_SECONDS", 0.01)
    stream = hub.open().frames(lambda: "not allowed: show a token")
    frames = await take(stream, 2)
    assert names(frames) == ["start", "end"]
    assert b"show a token" in frames[-1]
