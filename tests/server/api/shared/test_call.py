"""Bodies and rows of a request."""

from collections.abc import AsyncIterator

import pytest
from starlette.requests import Request

from common.error_codes import ErrorCode
from common.off_loop import InTurn
from controller.model.errors import DONE, Outcome
from server.api.shared import bodies
from server.api.shared.bodies import Bodies
from server.api.shared.call import Call, skip_rows
from server.api.shared.errors import HttpError, require
from server.api.shared.roles import Identity, Role
from tests.server.api.api_client import MOVE, ApiClient


@pytest.mark.parametrize("body", [b"{", b'{"partitions": [{"topic": "\\ud800"}]}'])
async def test_an_invalid_body_is_refused(body: bytes) -> None:
    status, text = await ApiClient().refusal("POST", "/v1/jobs", body)
    assert (status, text[:10]) == (400, "not JSON: ")


async def test_a_body_with_too_large_a_content_length_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MAX_BODY", 10)
    status, text = await ApiClient().refusal("POST", "/v1/jobs", MOVE)
    assert (status, text) == (413, "the body is larger than 10 bytes; send the plan in parts")


@pytest.mark.parametrize(("method", "path"), [("PUT", "/v1/limits"), ("POST", "/v1/jobs/1/priority")])
async def test_a_body_without_partitions_may_have_64_kib(method: str, path: str) -> None:
    status, text = await ApiClient().refusal(method, path, b'{"P": "' + b"x" * 65536 + b'"}')
    assert (status, text) == (413, "the body is larger than 65536 bytes")


async def test_a_chunked_body_is_read_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MAX_BODY", 10)

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


def test_bodies_count_until_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MAX_HELD", 10)
    held = Bodies()
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
    monkeypatch.setattr(bodies, "MAX_HELD", 10)
    response = await client.raw("POST", "/v1/jobs", content=b"x" * 11)
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert client.api.services.bodies.size == 0


def test_a_successful_outcome_raises_nothing() -> None:
    require(DONE)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 404),
        (ErrorCode.RESOURCE_NOT_FOUND, 404),
        (ErrorCode.INVALID_REQUEST, 409),
        (ErrorCode.REASSIGNMENT_IN_PROGRESS, 409),
        (ErrorCode.INVALID_CONFIG, 400),
    ],
)
def test_an_error_is_raised_with_its_http_status(error: ErrorCode, status: int) -> None:
    with pytest.raises(HttpError, match="why not") as raised:
        require(Outcome(error, "why not"))
    assert raised.value.status == status


def test_an_error_without_a_message_is_shown_by_name() -> None:
    with pytest.raises(HttpError, match="NOT_CONTROLLER"):
        require(Outcome(ErrorCode.NOT_CONTROLLER))
