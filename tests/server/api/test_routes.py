"""All routes: parameters, paths, methods, and a server that is not ready."""

import pytest

from server.driver.driver import DriverStoppedError
from tests.server.api.api_client import MOVE, ApiClient


async def test_an_unknown_path_is_named() -> None:
    assert await ApiClient().refusal("GET", "/v1/nope") == (404, "there is no /v1/nope; see /v1/openapi.json")


async def test_an_unsupported_method_is_named() -> None:
    assert await ApiClient().refusal("POST", "/v1/status") == (405, "/v1/status takes GET, not POST")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("limti=1", "unknown parameter 'limti'; known here: offset, limit"),
        ("limit=x", "parameter 'limit' is \"x\", expected a number from 0 to 10000"),
        ("limit=10001", "parameter 'limit' is 10001, expected a number from 0 to 10000"),
        ("limit=-1", "parameter 'limit' is -1, expected a number from 0 to 10000"),
    ],
)
async def test_an_invalid_parameter_is_named(query: str, text: str) -> None:
    assert await ApiClient().refusal("GET", f"/v1/jobs?{query}") == (400, text)


async def test_a_boolean_parameter_is_true_or_false() -> None:
    status, text = await ApiClient().refusal("POST", "/v1/jobs?queue=yes", MOVE)
    assert (status, text) == (400, "parameter 'queue' is \"yes\", expected true or false")


async def test_a_server_that_is_not_ready_answers_with_the_reason() -> None:
    client = ApiClient()
    client.api.services, client.health.obstacle = None, "records are being loaded"
    assert await client.refusal("GET", "/v1/status") == (503, "records are being loaded")


async def test_a_stopped_controller_is_an_error() -> None:
    client = ApiClient()
    client.driver.failure = DriverStoppedError("the controller has stopped")
    assert await client.refusal("POST", "/v1/pause") == (503, "the controller has stopped")


SHARED = {"cache-control": "max-age=2"}


async def test_a_client_that_accepts_an_older_answer_may_get_one() -> None:
    client = ApiClient()
    first = await client.raw("GET", "/v1/limits", headers=SHARED)
    client.controller.with_limits(partitions=7)
    assert (await client.raw("GET", "/v1/limits", headers=SHARED)).content == first.content
    assert (await client.raw("GET", "/v1/limits")).content != first.content


async def test_an_answer_that_the_client_has_is_not_sent_again() -> None:
    client = ApiClient()
    first = await client.raw("GET", "/v1/status", headers=SHARED)
    again = await client.raw("GET", "/v1/status", headers=SHARED | {"if-none-match": first.headers["etag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")


async def test_a_change_is_in_the_next_answer_of_every_client() -> None:
    client = ApiClient()
    await client.raw("GET", "/v1/status", headers=SHARED)
    await client.post("/v1/pause")
    assert (await client.raw("GET", "/v1/status", headers=SHARED)).json()["paused"] is True


async def test_queries_have_their_own_answers() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    pages = [await client.raw("GET", f"/v1/jobs?limit={each}", headers=SHARED) for each in (0, 1)]
    assert [len(page.json()["jobs"]) for page in pages] == [0, 1]


async def test_an_error_is_not_kept() -> None:
    client = ApiClient()
    assert (await client.raw("GET", "/v1/jobs/1", headers=SHARED)).status_code == 404
    await client.post("/v1/jobs", MOVE)
    assert (await client.raw("GET", "/v1/jobs/1", headers=SHARED)).status_code == 200


@pytest.mark.parametrize(("method", "path"), [("POST", "/v1/brokers/1/stop"), ("PUT", "/v1/limits")])
async def test_no_kept_answer_outlives_a_request_that_may_change_something(method: str, path: str) -> None:
    client = ApiClient()
    await client.raw("GET", "/v1/status", headers=SHARED)
    client.controller.stop(3)
    await client.ask(method, path, {"P": 1})
    answer = (await client.raw("GET", "/v1/status", headers=SHARED)).json()
    assert answer["brokers"]["live"] == len(client.controller.state.cluster.live)
