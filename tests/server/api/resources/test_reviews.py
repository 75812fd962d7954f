"""`/v1/plans/review`."""

import asyncio
import io
import json
from collections.abc import AsyncIterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from starlette.applications import Starlette

from controller.model.cluster import Config, ResourceType
from controller.model.configs import SCHEDULE
from reassignd.workers.review_worker import work
from server.api.resources import reviews
from server.api.resources.reviews import MAX_BYTES
from server.api.shared.forecasts import MAX_OPEN, Reviews
from server.api.shared.roles import Role
from tests.builders import InMemoryController
from tests.server.api.api_client import ApiClient, plan, three_partitions

UNTHROTTLED = 50


async def forecast(request: AsyncIterable[bytes]) -> bytes:
    """Do the work of the child process in this one."""
    lines, output = b"".join([piece async for piece in request]).splitlines(), io.BytesIO()
    work(iter(lines), output)
    return output.getvalue()


class ReviewClient(ApiClient):
    def __init__(self, controller: InMemoryController | None = None) -> None:
        super().__init__(controller)
        services = self.api.services
        assert services is not None
        self.service = Reviews(forecast, lambda: UNTHROTTLED)
        self.api.services = replace(services, reviews=self.service)

    async def review(self, *, query: str = "", **replicas: list[int]) -> Any:
        return await self.post(f"/v1/plans/review{query}", plan(**replicas))


async def test_a_review_has_steps_bytes_and_time_under_the_limits() -> None:
    answer = await ReviewClient(three_partitions(partitions=1)).review(foo_0=[1, 2, 4], foo_1=[1, 2, 4])
    assert (answer["partitions"], answer["unchanged"], answer["replica_movements"]) == (2, 0, 2)
    assert (answer["steps"], answer["waves"], answer["bytes"]) == (2, 2, 201)
    assert (answer["limits"], answer["seconds"]) == ({"P": 1}, 201 / UNTHROTTLED)


async def test_a_review_has_each_broker_before_and_after() -> None:
    answer = await ReviewClient().review(foo_0=[4, 2, 3])
    first, fourth = answer["brokers"][0], answer["brokers"][3]
    assert (first["before"]["replicas"], first["after"]["replicas"], first["losses"]) == (3, 2, 1)
    assert (fourth["before"]["leaders"], fourth["after"]["leaders"], fourth["gains"]) == (0, 1, 1)
    assert fourth["after"]["bytes"] == fourth["bytes_in"] == 100


async def test_nothing_is_submitted_by_a_review() -> None:
    client = ReviewClient()
    await client.review(foo_0=[4, 5, 6])
    assert client.driver.events == []


async def test_the_rate_is_the_given_one_or_the_throttle_or_assumed() -> None:
    client = ReviewClient()

    async def rate(query: str = "") -> tuple[int, str]:
        answer = await client.review(query=query, foo_0=[4, 5, 6])
        return answer["bandwidth"], answer["rate_origin"]

    assert await rate() == (UNTHROTTLED, "assumed")
    client.controller.default("reassignment.throttle.bytes.per.second", "1000")
    assert await rate() == (1000, "throttle")
    assert await rate("?throttle=7") == (7, "given")
    assert await rate("?throttle=2000") == (1000, "throttle")


async def test_a_throttled_review_uses_the_rates_that_others_have_set() -> None:
    client = ReviewClient()
    client.controller.put(Config(ResourceType.BROKER, "4", "follower.replication.throttled.rate", "1"))
    given = await client.review(query="?throttle=10", foo_0=[4, 2, 3])
    assert (given["seconds"], given["set_by_others"]) == (100, [{"bytes_per_second": 1, "brokers": [4]}])
    free = await client.review(foo_0=[4, 2, 3])
    assert (free["seconds"], free["set_by_others"]) == (2, [])


async def test_a_review_names_what_keeps_steps_from_starting() -> None:
    client = ReviewClient()
    await client.post("/v1/pause")
    state = client.controller.state
    state.gateway.health_problem = "missing: broker 3"
    state.backlog.hold(0)
    paused, unhealthy = (await client.review(foo_1=[4, 2, 3]))["obstacles"]
    assert paused == "all reassignments are paused"
    assert unhealthy.startswith("no step, except of repairs: the cluster is unhealthy: missing: broker 3")
    assert (await client.get("/v1/limits"))["obstacles"] == [paused, unhealthy]


async def test_partitions_that_stay_or_already_move_are_counted() -> None:
    client = ReviewClient()
    await client.post("/v1/jobs", plan(foo_0=[4, 5, 6]))
    answer = await client.review(foo_0=[1, 5, 6], foo_1=[1, 2, 3])
    assert (answer["partitions"], answer["unchanged"], answer["under_way"]) == (2, 1, 1)


async def test_a_partition_that_cannot_arrive_is_listed_with_its_reason() -> None:
    client = ReviewClient()
    client.controller.stop(4)
    answer = await client.review(foo_0=[1, 2, 4])
    assert answer["waiting_partitions"] == 1
    [waiting] = answer["waiting"]
    assert (waiting["topic"], waiting["partition"], waiting["reason"]) == ("foo", 0, "offline: broker 4")


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        (plan(foo_0=[1, 2], nope_0=[1]), 422, "partitions[1] (nope-0): Unable to find a topic named nope."),
        (plan(foo_0=[1, 9]), 422, "partitions[0] (foo-0): "),
        ({"partitions": [{"topic": "foo"}]}, 400, "partitions[0]"),
        (b"{", 400, "JSON"),
    ],
)
async def test_the_first_invalid_entry_is_named(body: Any, status: int, text: str) -> None:
    given, said = await ReviewClient().refusal("POST", "/v1/plans/review", body)
    assert given == status
    assert text in said


async def test_larger_plans_are_left_to_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reviews, "MAX_ENTRIES", 1)
    body = plan(foo_0=[4, 5, 6], foo_1=[4, 5, 6])
    status, text = await ReviewClient().refusal("POST", "/v1/plans/review", body)
    assert (status, text) == (422, "the plan has 2 entries: `reassignd plan` forecasts more than 1")


async def test_a_server_without_a_planner_refuses_reviews() -> None:
    status, _ = await ApiClient().refusal("POST", "/v1/plans/review", plan(foo_0=[4, 5, 6]))
    assert status == 501


async def test_the_time_within_the_schedule_has_the_throttles_of_its_periods() -> None:
    client = ReviewClient()
    answer = await client.review(foo_0=[4, 2, 3])
    assert answer["scheduled_seconds"] == answer["seconds"] == 2
    client.controller.default(SCHEDULE, "00:00-24:00 throttle=10")
    answer = await client.review(query="?throttle=50", foo_0=[4, 2, 3])
    assert (answer["seconds"], answer["scheduled_seconds"]) == (2, 10)


async def test_a_review_ends_when_its_client_disconnects() -> None:
    cancelled = asyncio.Event()

    async def endless(_: AsyncIterable[bytes]) -> bytes:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return b""

    client, body = ReviewClient(), json.dumps(plan(foo_0=[4, 5, 6])).encode()
    services = client.api.services
    assert services is not None
    client.api.services = replace(services, reviews=Reviews(endless, lambda: UNTHROTTLED))
    messages: Iterator[dict[str, Any]] = iter(
        [{"type": "http.request", "body": body}, {"type": "http.disconnect"}]
    )

    async def receive() -> dict[str, Any]:
        return next(messages)

    async def send(_: object) -> None:
        pass

    scope = {"type": "http", "method": "POST", "path": "/v1/plans/review", "query_string": b"", "headers": []}
    await Starlette(routes=client.api.routes())(scope, receive, send)
    assert cancelled.is_set()


async def test_a_plan_of_more_bytes_than_any_review_needs_is_not_received() -> None:
    client = ReviewClient()
    status, answer = await client.ask("POST", "/v1/plans/review", b" " * (MAX_BYTES + 1))
    assert (status, answer["error"]) == (413, f"the body is larger than {MAX_BYTES} bytes")


async def test_a_client_without_a_free_place_is_refused_before_its_plan_is_received() -> None:
    client = ReviewClient()
    slots = client.service.of(Role.OPERATOR)
    with ExitStack() as open_:
        for _ in range(MAX_OPEN):
            open_.enter_context(slots.opened())
        status, _ = await client.ask("POST", "/v1/plans/review", b"{not read")
    assert status == 429
