"""`/v1/limits`."""

from typing import Any

import pytest

from controller.scheduling.steps import UNLIMITED
from tests.server.api.desk import MOVE, Desk


async def names(desk: Desk) -> dict[str, Any]:
    return {each["name"]: each["limit"] for each in (await desk.get("/v1/limits"))["limits"]}


async def test_without_limits_there_are_none() -> None:
    assert await names(Desk()) == dict.fromkeys(("R", "P", "L", "C", "B", "throttle"))


async def test_limits_go_by_letter_config_or_alias() -> None:
    desk = Desk()
    changes = {
        "P": 20,
        "r": 2,
        "reassignment.max.concurrent.replica.movements": 30,
        "reassignment.parallel.leader.movements": 4,
        "throttle": 1000,
    }
    status, _ = await desk.ask("PUT", "/v1/limits", changes)
    assert status == 200
    expected = {"R": 2, "P": 20, "L": 4, "C": 30, "B": None, "throttle": 1000}
    assert await names(desk) == expected


async def test_null_takes_a_limit_away() -> None:
    desk = Desk()
    await desk.ask("PUT", "/v1/limits", {"P": 20})
    await desk.ask("PUT", "/v1/limits", {"P": None})
    assert desk.world.state.backlog.usage.limits.partitions == UNLIMITED


async def test_what_is_used_is_shown_by_broker() -> None:
    desk = Desk()
    await desk.post("/v1/jobs", MOVE)
    answer = await desk.get("/v1/limits")
    assert {"id": 4, "incoming": 2, "outgoing": 0} in answer["brokers"]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"P": 0}, "P is 0: it must be a whole number from 1 to 2147483647"),
        ({"P": -1}, "P is -1: it must be a whole number from 1 to 2147483647"),
        ({"P": 2**31}, "P is 2147483648: it must be a whole number from 1 to 2147483647"),
        ({"P": True}, "P is true: it must be a whole number from 1 to 2147483647"),
        ({"P": "5"}, 'P is "5": it must be a whole number from 1 to 2147483647'),
        ({"Q": 5}, 'unknown limit "Q"; known: R, P, L, C, B, throttle and their configs'),
        ({}, "the body is {}, expected an object of limits"),
        ([], "the body is [], expected an object of limits"),
    ],
)
async def test_a_bad_limit_is_refused_by_name(changes: Any, text: str) -> None:
    assert await Desk().refusal("PUT", "/v1/limits", changes) == (400, text)


async def test_one_limit_under_two_names_is_refused() -> None:
    status, _ = await Desk().refusal(
        "PUT", "/v1/limits", {"P": 1, "reassignment.parallel.partition.count": 2}
    )
    assert status == 409


async def test_one_bad_limit_spoils_the_others() -> None:
    desk = Desk()
    await desk.refusal("PUT", "/v1/limits", {"R": 5, "P": 0})
    assert (await names(desk))["R"] is None
