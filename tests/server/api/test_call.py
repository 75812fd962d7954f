"""Bodies and rows of a request."""

from collections.abc import AsyncIterator

import pytest
from starlette.requests import Request

from common.off_loop import InTurn
from server.api import call
from server.api.call import Call, skip_rows
from server.api.roles import Identity, Role
from tests.server.api.api_client import MOVE, ApiClient


@pytest.mark.parametrize("body", [b"{", b'{"partitions": [{"topic": "\\ud800"}]}'])
async def test_an_invalid_body_is_refused(body: bytes) -> None:
    status, text = await ApiClient().refusal("POST", "/v1/jobs", body)
    assert (status, text[:10]) == (400, "not JSON: ")


async def test_a_body_with_too_large_a_content_length_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call, "MAX_BODY", 10)
    status, text = await ApiClient().refusal("POST", "/v1/jobs", MOVE)
    assert (status, text) == (413, "the body is larger than 10 bytes; send the plan in parts")


@pytest.mark.parametrize(("method", "path"), [("PUT", "/v1/limits"), ("POST", "/v1/jobs/1/priority")])
async def test_a_body_without_partitions_may_have_64_kib(method: str, path: str) -> None:
    status, text = await ApiClient().refusal(method, path, b'{"P": "' + b"x" * 65536 + b'"}')
    assert (status, text) == (413, "the body is larger than 65536 bytes")


async def test_a_chunked_body_is_read_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call, "MAX_BODY", 10)

    async def chunks() -> AsyncIterator[bytes]:
        while True:
            yield b"12345678"

    response = await ApiClient().raw("POST", "/v1/jobs", content=chunks())
    assert response.status_code == 413


def test_a_page_skips_rows_but_not_the_none_between_them() -> None:
    assert list(skip_rows(iter([1, None, 2, 3, None, 4]), 2)) == [None, None, None, 3, None, 4]


def test_viewers_have_the_worker_thread_in_turn_and_operators_at_once() -> None:
    services = ApiClient().api.services
    assert services is not None
    operator = Call(services, Identity("User:ann", Role.OPERATOR), "", {}, Request({"type": "http"}))
    assert operator.off_loop is services.off_loop
    assert isinstance(operator._replace(identity=Identity("User:bob", Role.VIEWER)).off_loop, InTurn)
