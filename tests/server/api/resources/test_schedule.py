"""`/v1/schedule`."""

from typing import Any

import pytest

from tests.server.api.api_client import MOVE, ApiClient

DAILY = "Mon-Fri 00:00-06:00 throttle=5MB; Sat,Sun 20:00-24:00; tz=Europe/Berlin"
HOUR = 3_600_000


def at_hour(hour: int) -> ApiClient:
    """Return a client of a controller at this hour of Thursday, 1 January 1970, in UTC."""
    client = ApiClient()
    client.controller.now_ms = hour * HOUR
    return client


async def test_without_a_schedule_steps_start_at_any_time() -> None:
    now = {"open": True, "throttle": None, "until_ms": None, "reason": None}
    answer = await ApiClient().get("/v1/schedule")
    assert answer == {"schedule": None, "time_zone": None, "now": now, "periods": []}
    assert (await ApiClient().get("/v1/status"))["schedule"] is None


async def test_a_schedule_is_set_and_shown() -> None:
    client = at_hour(3)
    status, answer = await client.ask("PUT", "/v1/schedule", {"schedule": DAILY})
    assert (status, answer["schedule"], answer["time_zone"]) == (200, DAILY, "Europe/Berlin")
    assert answer["periods"] == [
        {
            "days": ["Mon", "Tue", "Wed", "Thu", "Fri"],
            "start": "00:00",
            "end": "06:00",
            "throttle": 5_000_000,
        },
        {"days": ["Sat", "Sun"], "start": "20:00", "end": "24:00", "throttle": None},
    ]
    assert answer["now"] == {"open": True, "throttle": 5_000_000, "until_ms": 5 * HOUR, "reason": None}
    assert await client.get("/v1/schedule") == answer


async def test_outside_of_a_period_the_reason_is_shown_like_any_other() -> None:
    client = at_hour(5)
    await client.ask("PUT", "/v1/schedule", {"schedule": DAILY})
    await client.post("/v1/jobs", MOVE)
    reason = "outside of the schedule until 00:00 (Europe/Berlin)"
    status = await client.get("/v1/status")
    assert status["schedule"] == {
        "open": False,
        "throttle": 5_000_000,
        "until_ms": 23 * HOUR,
        "reason": reason,
    }
    assert status["reasons"] == [{"reason": reason, "partitions": 2}]
    assert (status["reassignments"]["waiting"], status["jobs"][0]["waiting"]) == (2, 2)
    job = await client.get("/v1/jobs/1?state=waiting")
    assert [part["reason"] for part in job["partitions"]] == [reason] * 2


async def test_null_removes_the_schedule() -> None:
    client = at_hour(5)
    await client.ask("PUT", "/v1/schedule", {"schedule": DAILY})
    _, answer = await client.ask("PUT", "/v1/schedule", {"schedule": None})
    assert (answer["schedule"], answer["now"]["open"]) == (None, True)


@pytest.mark.parametrize("path", ["/v1/schedule", "/v1/schedule/preview"])
@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"schedule": "Mo 1:00-2:00"}, "'Mo 1:00-2:00': 'Mo' is not a day: expected Mon, Tue"),
        ({"schedule": 5}, "'schedule' is 5, expected text or null"),
        ({}, "schedule"),
        ({"schedule": None, "x": 1}, "x"),
    ],
)
async def test_a_refusal_names_what_is_wrong(path: str, body: dict[str, Any], text: str) -> None:
    client = ApiClient()
    status, answer = await client.ask("POST" if path.endswith("preview") else "PUT", path, body)
    assert status == 400
    assert text in answer["error"]
    assert client.controller.state.settings.schedule is None


async def test_a_preview_changes_nothing() -> None:
    client = ApiClient()
    _, answer = await client.ask("POST", "/v1/schedule/preview", {"schedule": "00:00-24:00 throttle=1MB"})
    assert (answer["now"]["open"], answer["now"]["throttle"]) == (True, 1_000_000)
    _, none = await client.ask("POST", "/v1/schedule/preview", {"schedule": " "})
    assert none["schedule"] is None
    assert client.controller.state.settings.schedule is None
