"""Control of the brokers of the embedded cluster."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.server.api.api_client import ApiClient

DIR = "/embedded/broker-2/logs-0"


class Owned:
    """Six brokers that record the calls; broker 3 is stopped."""

    brokers: Sequence[int] = range(1, 7)

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []

    def log_dirs(self, number: int) -> dict[str, bool]:
        return {f"/embedded/broker-{number}/logs-0": ("fail", number) not in self.done}

    async def start_broker(self, number: int) -> None:
        if number != 3:
            raise ValueError(f"broker {number} is running already")
        self.done.append(("start", number))

    async def stop_broker(self, number: int, *, controlled: bool = True) -> None:
        self._check_runs(number)
        self.done.append(("stop", number, controlled))

    def slow_broker(self, number: int, factor: float) -> None:
        self._check_runs(number)
        self.done.append(("slow", number, factor))

    async def fail_log_dir(self, number: int, path: str) -> None:
        self._check_runs(number)
        self.done.append(("fail", number))

    def _check_runs(self, number: int) -> None:
        if number == 3:
            raise ValueError("broker 3 is not running")


def client() -> tuple[ApiClient, Owned]:
    made, owned = ApiClient(), Owned()
    made.serve(brokers=owned)
    return made, owned


async def test_a_stop_is_controlled_by_default() -> None:
    made, owned = client()
    await made.post("/v1/brokers/1/stop")
    await made.post("/v1/brokers/2/stop?controlled=false")
    assert owned.done == [("stop", 1, True), ("stop", 2, False)]


async def test_a_broker_is_started_and_slowed() -> None:
    made, owned = client()
    await made.post("/v1/brokers/3/start")
    await made.post("/v1/brokers/2/slow", {"factor": 0})
    assert owned.done == [("start", 3), ("slow", 2, 0.0)]


async def test_a_failed_log_directory_is_listed() -> None:
    made, _ = client()
    answer = await made.post("/v1/brokers/2/fail-log-dir", {"path": DIR})
    assert answer["log_dirs"] == [{"path": DIR, "works": False}]


@pytest.mark.parametrize(
    ("path", "body", "status", "text"),
    [
        ("9/stop", None, 404, "There is no broker 9; `reassignd brokers` lists them."),
        ("x/stop", None, 404, "There is no broker 'x': expected a number."),
        ("3/stop", None, 409, "broker 3 is not running"),
        ("3/slow", {"factor": 1}, 409, "broker 3 is not running"),
        ("2/start", None, 409, "broker 2 is running already"),
        ("2/slow", {"factor": -1}, 400, "'factor' is -1, expected a number from 0 to 1000"),
        ("2/slow", {"factor": True}, 400, "'factor' is true, expected a number from 0 to 1000"),
        ("2/slow", {"factr": 1}, 400, 'the body has the unknown key "factr"; known: factor'),
        ("2/fail-log-dir", {"path": 5}, 400, "'path' is 5, expected a log directory"),
        (
            "2/fail-log-dir",
            {"path": "/x"},
            404,
            f'Broker 2 has no log directory "/x"; it has "{DIR}".',
        ),
        ("3/fail-log-dir", {"path": "/embedded/broker-3/logs-0"}, 409, "broker 3 is not running"),
    ],
)
async def test_an_invalid_request_is_refused_in_one_line(
    path: str, body: Any, status: int, text: str
) -> None:
    made, owned = client()
    assert await made.refusal("POST", f"/v1/brokers/{path}", body) == (status, text)
    assert owned.done == []


async def test_other_backends_have_no_brokers_to_control() -> None:
    status, text = await ApiClient().refusal("POST", "/v1/brokers/1/stop")
    assert status == 404
    assert (
        "whoever operates them starts and stops them, with Kafka's own scripts (bin/kafka-server-start.sh"
        in text
    )
    assert text.endswith("Only brokers of the embedded cluster can be controlled here.")
