"""`/v1/limits`."""

from dataclasses import replace
from typing import Any

import pytest

from controller.model.limits import UNLIMITED
from server.api.shared.forecasts import Reviews
from tests.server.api.api_client import MOVE, ApiClient


async def names(client: ApiClient) -> dict[str, Any]:
    return {each["name"]: each["limit"] for each in (await client.get("/v1/limits"))["limits"]}


async def test_limits_are_null_by_default() -> None:
    assert await names(ApiClient()) == dict.fromkeys(("R", "P", "L", "C", "B", "bytes", "throttle"))


async def test_a_limit_is_set_by_letter_config_or_alias() -> None:
    client = ApiClient()
    changes = {
        "P": 20,
        "r": 2,
        "reassignment.max.concurrent.replica.movements": 30,
        "reassignment.parallel.leader.movements": 4,
        "reassignment.max.concurrent.bytes": 5_000,
        "throttle": 1000,
    }
    status, _ = await client.ask("PUT", "/v1/limits", changes)
    assert status == 200
    expected = {"R": 2, "P": 20, "L": 4, "C": 30, "B": None, "bytes": 5_000, "throttle": 1000}
    assert await names(client) == expected


async def test_null_removes_a_limit() -> None:
    client = ApiClient()
    await client.ask("PUT", "/v1/limits", {"P": 20})
    await client.ask("PUT", "/v1/limits", {"P": None})
    assert client.controller.state.backlog.usage.limits.partitions == UNLIMITED


async def test_the_bandwidth_of_forecasts_is_shown() -> None:
    client = ApiClient()
    assert (await client.get("/v1/limits"))["bandwidth"] is None
    services = client.api.services
    assert services is not None
    client.api.services = replace(services, reviews=Reviews(_forecast, lambda: 7))
    assert (await client.get("/v1/limits"))["bandwidth"] == 7


def _forecast(*_: object) -> Any:
    raise AssertionError("nothing is forecast")


async def test_use_is_shown_by_broker() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    answer = await client.get("/v1/limits")
    assert {"id": 4, "incoming": 2, "outgoing": 0} in answer["brokers"]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"P": 0}, "P is 0: it must be a whole number from 1 to 2147483647"),
        ({"P": -1}, "P is -1: it must be a whole number from 1 to 2147483647"),
        ({"P": 2**31}, "P is 2147483648: it must be a whole number from 1 to 2147483647"),
        ({"P": True}, "P is true: it must be a whole number from 1 to 2147483647"),
        ({"P": "5"}, 'P is "5": it must be a whole number from 1 to 2147483647'),
        ({"Q": 5}, 'unknown limit "Q"; known: R, P, L, C, B, bytes, throttle, pace and their configs'),
        ({}, "the body is {}, expected an object of limits"),
        ([], "the body is [], expected an object of limits"),
    ],
)
async def test_an_invalid_limit_is_refused_by_name(changes: Any, text: str) -> None:
    assert await ApiClient().refusal("PUT", "/v1/limits", changes) == (400, text)


async def test_one_limit_under_two_names_is_refused() -> None:
    status, _ = await ApiClient().refusal(
        "PUT", "/v1/limits", {"P": 1, "reassignment.parallel.partition.count": 2}
    )
    assert status == 409


async def test_one_invalid_limit_refuses_all() -> None:
    client = ApiClient()
    await client.refusal("PUT", "/v1/limits", {"R": 5, "P": 0})
    assert (await names(client))["R"] is None


async def test_a_preview_shows_what_would_start_and_changes_nothing() -> None:
    client = ApiClient()
    await client.ask("PUT", "/v1/limits", {"P": 1, "throttle": 5_000})
    await client.post("/v1/jobs", MOVE)
    answer = await client.post("/v1/limits/preview", {"P": 2, "throttle": None})
    assert (answer["starts"], answer["more"], answer["stopped"], answer["throttle"]) == (1, False, None, None)
    limits = {each["name"]: (each["before"], each["after"], each["excess"]) for each in answer["limits"]}
    assert (limits["P"], limits["throttle"], limits["C"]) == ((1, 2, 0), (5_000, None, None), (None, None, 0))
    assert {each["id"]: each["starting_in"] for each in answer["brokers"]} == {1: 0, 4: 1, 5: 1, 6: 1}
    assert (await names(client))["P"] == 1


async def test_a_preview_counts_what_exceeds_the_new_limit() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    answer = await client.post("/v1/limits/preview", {"p": 1, "B": 1})
    excess = {each["name"]: each["excess"] for each in answer["limits"]}
    assert (answer["starts"], excess) == (
        0,
        {"R": 0, "P": 1, "L": 0, "C": 0, "B": 5, "bytes": 0, "throttle": None},
    )
    assert [each["excess_out"] for each in answer["brokers"] if each["id"] == 1] == [5]


async def test_a_preview_refuses_what_the_change_refuses() -> None:
    for body in ({"P": 0}, {"Q": 5}, {}):
        assert await ApiClient().refusal("POST", "/v1/limits/preview", body) == await ApiClient().refusal(
            "PUT", "/v1/limits", body
        )
