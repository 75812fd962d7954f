"""Bodies of concurrent requests."""

import pytest

from server.api import held_bodies
from server.api.errors import HttpError
from server.api.held_bodies import HeldBodies
from tests.server.api.api_client import MOVE, ApiClient


def test_bodies_count_until_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_bodies, "MAX_HELD", 10)
    held = HeldBodies()
    with held.counted() as one:
        one(6)
        with held.counted() as other:
            other(4)
            with pytest.raises(HttpError, match="are larger than 10 bytes"):
                other(1)
        assert held.size == 6
        one(4)
    assert held.size == 0


async def test_a_body_is_released_when_its_request_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    await client.refusal("POST", "/v1/jobs", b"{")
    assert client.api.services is not None
    assert client.api.services.bodies.size == 0
    monkeypatch.setattr(held_bodies, "MAX_HELD", 10)
    response = await client.raw("POST", "/v1/jobs", content=b"x" * 11)
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert client.api.services.bodies.size == 0
