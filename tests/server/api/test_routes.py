"""The routes as a whole: parameters, paths, methods, and a server that is not there yet."""

import pytest

from server.driver.driver import DriverStoppedError
from tests.server.api.desk import MOVE, Desk


async def test_an_unknown_path_is_named() -> None:
    assert await Desk().refusal("GET", "/v1/nope") == (404, "there is no /v1/nope; see /v1/openapi.json")


async def test_a_method_that_a_path_does_not_take_is_named() -> None:
    assert await Desk().refusal("POST", "/v1/status") == (405, "/v1/status takes GET, not POST")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("limti=1", "unknown parameter 'limti'; known here: offset, limit"),
        ("limit=x", "parameter 'limit' is \"x\", expected a number from 0 to 10000"),
        ("limit=10001", "parameter 'limit' is 10001, expected a number from 0 to 10000"),
        ("limit=-1", "parameter 'limit' is -1, expected a number from 0 to 10000"),
    ],
)
async def test_a_parameter_that_is_not_valid_is_named(query: str, text: str) -> None:
    assert await Desk().refusal("GET", f"/v1/jobs?{query}") == (400, text)


async def test_a_switch_is_true_or_false() -> None:
    status, text = await Desk().refusal("POST", "/v1/jobs?queue=yes", MOVE)
    assert (status, text) == (400, "parameter 'queue' is \"yes\", expected true or false")


async def test_before_the_server_is_ready_it_says_what_it_waits_for() -> None:
    desk = Desk()
    desk.api.core, desk.health.obstacle = None, "records are being loaded"
    assert await desk.refusal("GET", "/v1/status") == (503, "records are being loaded")


async def test_a_stopped_controller_is_told() -> None:
    desk = Desk()
    desk.driver.failure = DriverStoppedError("the controller has stopped")
    assert await desk.refusal("POST", "/v1/pause") == (503, "the controller has stopped")
