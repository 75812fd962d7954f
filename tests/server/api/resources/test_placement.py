"""`/v1/placement`."""

import httpx
import pytest

from controller.messages.events import AlterConfigs
from controller.modes import GATEWAY
from tests.server.api.api_client import ApiClient


async def test_brokers_are_excluded_and_allowed_again() -> None:
    client = ApiClient()
    client.controller.stop(2)
    shown = await client.get("/v1/placement")
    assert shown["brokers"][1] == {"id": 2, "rack": "rack-2", "live": False}
    assert (await client.post("/v1/placement", {"exclude": [4, 2]}))["excluded"] == [2, 4]
    assert (await client.post("/v1/placement", {"exclude": [1], "allow": [4, 5]}))["excluded"] == [1, 2]
    assert (await client.get("/v1/status"))["brokers"]["excluded"] == [1, 2]


async def test_a_change_names_its_client() -> None:
    client = ApiClient()
    await client.post("/v1/placement", {"exclude": [1]})
    [event] = client.driver.events
    assert isinstance(event, AlterConfigs)
    assert event.requester.client_id == f"python-httpx/{httpx.__version__}"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"exclude": [9]}, (404, "There is no broker 9.")),
        ({"exclude": [1], "allow": [1]}, (400, "broker 1 is in both lists")),
        ({"exclude": [-1]}, (404, "There is no broker -1.")),
    ],
)
async def test_bad_changes_are_refused(body: object, error: tuple[int, str]) -> None:
    client = ApiClient()
    assert await client.refusal("POST", "/v1/placement", body) == error
    assert (await client.get("/v1/placement"))["excluded"] == []


async def test_a_gateway_does_not_place_partitions() -> None:
    client = ApiClient()
    client.controller.state.mode = GATEWAY
    status, text = await client.refusal("POST", "/v1/placement", {"exclude": [1]})
    assert (status, text.startswith("Kafka places new partitions")) == (409, True)
    assert (await client.get("/v1/status"))["brokers"]["excluded"] is None
