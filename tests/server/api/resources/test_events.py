"""`/v1/events`."""

from dataclasses import replace

import pytest

from server.api.access import Access
from server.api.shared.roles import Grants, Identity, Role
from server.events import hub as hubs
from server.events.hub import EventHub
from tests.server.api.api_client import ApiClient


class Streaming:
    """A client of an API whose streams end at once, after the events that exist."""

    def __init__(self, access: Access | None = None) -> None:
        self.client = ApiClient(access=access)
        assert self.client.api.services is not None
        self.hub = EventHub(self.client.controller.state, lambda: "cluster-1")
        self.client.api.services = replace(self.client.api.services, events=self.hub)


async def test_the_stream_is_of_server_sent_events() -> None:
    streaming = Streaming()
    streaming.hub.stop()
    response = await streaming.client.raw("GET", "/v1/events")
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.text.startswith("event: start\ndata: {")
    assert response.text.endswith("\n\n")


async def test_a_reader_that_has_left_makes_room() -> None:
    streaming = Streaming()
    streaming.hub.stop()
    for _ in range(hubs.MAX_READERS + 1):
        assert (await streaming.client.raw("GET", "/v1/events")).status_code == 200


async def test_too_many_readers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "MAX_READERS", 0)
    status, text = await Streaming().client.refusal("GET", "/v1/events")
    assert (status, text) == (503, "there are too many readers of events already")


async def test_head_does_not_open_a_stream() -> None:
    assert (await Streaming().client.raw("HEAD", "/v1/events")).status_code == 200


async def test_a_revoked_token_ends_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "HEARTBEAT_SECONDS", 0.01)
    identity = Identity("User:ann", Role.VIEWER)
    grants = iter([Grants([(b"look", identity)]), Grants()])
    streaming = Streaming(Access(lambda: next(grants)))
    response = await streaming.client.raw("GET", "/v1/events", headers={"authorization": "Bearer look"})
    assert response.status_code == 200
    assert "not allowed: show a token" in response.text
