"""The router, from a request frame to the encoded answer."""

import asyncio
import inspect
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from common.clock import settle
from common.error_codes import ErrorCode
from common.off_loop import P, R
from controller.model.access import Operation
from protocol.codec.errors import ApiError, DecodeError
from protocol.counter import Bounds
from protocol.frames import RequestFrame, parse_request
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.delete_topics_request import DeleteTopicsRequest
from protocol.messages.describe_cluster_request import DescribeClusterRequest
from protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from protocol.messages.elect_leaders_response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from protocol.messages.find_coordinator_request import FindCoordinatorRequest
from protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from server.counters import Counters
from server.dispatch.cache import Encoded
from server.dispatch.context import (
    ANONYMOUS,
    LARGE_ROWS,
    AllowAll,
    Authorizer,
    Caller,
    Context,
)
from server.dispatch.registry import ROUTES, AnyRoute
from server.dispatch.router import Router, is_large, refused
from server.driver.driver import DriverStoppedError
from server.handlers import load
from tests.server.fakes import NOBODY, FakeBroker, FakeClient, FakeDriver, services

CALLER = Caller(FakeBroker(), ANONYMOUS, "10.0.0.9:4711")


class Held:
    """A worker thread that waits."""

    def __init__(self) -> None:
        self.waiting, self.go_on = 0, asyncio.Event()

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        self.waiting += 1
        await self.go_on.wait()
        return function(*args, **kwargs)


class Rig:
    """A router and one client."""

    def __init__(
        self, routes: dict[int, AnyRoute] | None = None, authorizer: Authorizer | None = None, *replies: Any
    ) -> None:
        self.client = FakeClient()
        self.stats = Counters()
        shared = services(driver=FakeDriver(*replies), authorizer=authorizer)
        self.router = Router(shared, self.stats, load() if routes is None else routes)

    def frame(self, request: Any, version: int) -> RequestFrame:
        return parse_request(self.client.ask(request, version)[4:])

    async def answer(self, request: Any, version: int) -> Any:
        answer = self.router.answer(self.frame(request, version), CALLER)
        return self.client.read(answer if isinstance(answer, bytes) else await answer)[0]


def route(handle: Any, operation: Operation | None = None) -> dict[int, AnyRoute]:
    """Return a route that answers ElectLeaders with `handle`."""
    real = ROUTES[43]
    return {43: real._replace(handle=handle, operation=operation)}


def elections(count: int = 1) -> ElectLeadersRequest:
    return ElectLeadersRequest(topic_partitions=[TopicPartitions("foo", tuple(range(count)))])


async def test_a_handler_that_answers_at_once_needs_no_task() -> None:
    rig = Rig()
    answer = rig.router.answer(rig.frame(DescribeClusterRequest(), 1), CALLER)
    assert isinstance(answer, bytes)
    assert rig.client.read(answer)[0].cluster_id == "cluster-1"


async def test_a_handler_that_awaits_is_answered_later() -> None:
    async def handle(_: Any, context: Context) -> ElectLeadersResponse:
        return ElectLeadersResponse(throttle_time_ms=context.api_version)

    assert (await Rig(route(handle)).answer(elections(), 2)).throttle_time_ms == 2


async def test_an_immediate_answer_is_timed() -> None:
    rig = Rig()
    await rig.answer(DescribeClusterRequest(), 1)
    assert rig.stats.timed == {60: 1}
    assert rig.stats.request_seconds[60] > 0


async def test_a_delayed_answer_is_timed_when_it_is_complete() -> None:
    async def handle(_: Any, __: Context) -> ElectLeadersResponse:
        assert rig.stats.timed == {}
        return ElectLeadersResponse()

    rig = Rig(route(handle))
    await rig.answer(elections(), 2)
    assert rig.stats.timed == {43: 1}


async def test_a_request_without_an_answer_is_not_timed() -> None:
    async def handle(_: Any, __: Context) -> ElectLeadersResponse:
        raise DecodeError("garbage")

    rig = Rig(route(handle))
    with pytest.raises(DecodeError):
        await rig.answer(elections(), 2)
    assert rig.stats.timed == {}


async def test_the_handler_gets_the_principal() -> None:
    seen: list[Context] = []

    def handle(_: Any, context: Context) -> ElectLeadersResponse:
        seen.append(context)
        return ElectLeadersResponse()

    await Rig(route(handle)).answer(elections(), 2)
    assert seen[0][3:] == (CALLER, "me", 2)


async def test_the_authorizer_of_a_request_replaces_the_clusters() -> None:
    seen: list[Context] = []

    def handle(_: Any, context: Context) -> ElectLeadersResponse:
        seen.append(context)
        return ElectLeadersResponse()

    rig, allowed = Rig(route(handle)), AllowAll()
    rig.router.answer(rig.frame(elections(), 2), CALLER._replace(rights=allowed))
    assert seen[0].authorizer is allowed


async def test_an_encoded_body_is_sent_as_it_is() -> None:
    body = bytes(4) + b"\x00\x07" + b"\x01" + b"\x00"
    response = await Rig(route(lambda *_: Encoded(body))).answer(elections(), 2)
    assert response.error_code == 7


async def test_a_handler_may_return_an_encoded_body_later() -> None:
    async def handle(*_: Any) -> Encoded:
        return Encoded(bytes(4) + b"\x00\x07" + b"\x01" + b"\x00")

    assert (await Rig(route(handle)).answer(elections(), 2)).error_code == 7


async def test_a_large_later_answer_is_encoded_off_the_loop() -> None:
    topics = [ReplicaElectionResult("foo", [PartitionResult(index) for index in range(LARGE_ROWS + 1)])]

    async def handle(*_: Any) -> ElectLeadersResponse:
        return ElectLeadersResponse(replica_election_results=topics)

    response = await Rig(route(handle)).answer(elections(), 2)
    assert len(response.replica_election_results[0].partition_result) == LARGE_ROWS + 1


@pytest.mark.parametrize("key", [0, 1, 8, 999, -1])
async def test_an_unknown_key_has_no_answer(key: int) -> None:
    frame = RequestFrame(key, 0, 1, None, memoryview(b""), known=False)
    with pytest.raises(DecodeError, match=f"API key {key} version 0 is not served"):
        Rig().router.answer(frame, CALLER)


async def test_an_unknown_version_has_no_answer() -> None:
    with pytest.raises(DecodeError, match="API key 45 version 2"):
        Rig().router.answer(RequestFrame(45, 2, 1, None, memoryview(b""), known=False), CALLER)


async def test_a_version_that_only_the_codec_knows_has_no_answer() -> None:
    rig = Rig()
    frame = rig.frame(elections(), 2)
    rig.router = Router(services(), rig.stats, {43: ROUTES[43]._replace(versions=range(2))})
    with pytest.raises(DecodeError, match="API key 43 version 2 is not served"):
        rig.router.answer(frame, CALLER)


async def test_a_newer_api_versions_is_answered_with_error_35_in_version_0() -> None:
    answer = Rig().router.answer(RequestFrame(18, 5, 77, None, memoryview(b""), known=False), CALLER)
    assert answer == b"\0\0\0\x10" + b"\0\0\0\x4d" + b"\0\x23" + b"\0\0\0\1" + b"\0\x12\0\0\0\4"


async def test_a_body_that_is_cut_short_has_no_answer() -> None:
    rig = Rig()
    frame = rig.frame(elections(), 2)
    with pytest.raises(DecodeError):
        rig.router.answer(frame._replace(body=frame.body[:-3]), CALLER)


async def test_a_large_body_is_decoded_off_the_loop() -> None:
    rig = Rig(route(lambda request, _: ElectLeadersResponse(len(request.topic_partitions[0].partitions))))
    frame = rig.frame(elections(40_000), 2)
    answer = rig.router.answer(frame, CALLER)
    assert inspect.isawaitable(answer)
    assert rig.client.read(await answer)[0].throttle_time_ms == 40_000


@pytest.mark.parametrize(("operation", "at_once"), [(Operation.ALTER, 3), (Operation.DESCRIBE, 1), (None, 1)])
async def test_large_requests_without_the_right_to_change_the_cluster_are_decoded_in_turn(
    operation: Operation | None, at_once: int
) -> None:
    worker = Held()
    shared = replace(services(), off_loop=worker)
    router = Router(shared, Counters(), route(lambda *_: ElectLeadersResponse(), operation))
    frame = parse_request(FakeClient().ask(elections(40_000), 2)[4:])
    answers = [router.answer(frame, CALLER) for _ in range(3)]
    asked = [asyncio.ensure_future(answer) for answer in answers if not isinstance(answer, bytes)]
    await settle()
    assert worker.waiting == at_once
    worker.go_on.set()
    await asyncio.gather(*asked)


async def test_a_large_body_that_is_cut_short_has_no_answer_either() -> None:
    rig = Rig()
    frame = rig.frame(elections(40_000), 2)
    answer = rig.router.answer(frame._replace(body=frame.body[:-3]), CALLER)
    assert inspect.isawaitable(answer)
    with pytest.raises(DecodeError):
        await answer


async def test_a_large_answer_is_encoded_off_the_loop() -> None:
    rig = Rig()
    request = FindCoordinatorRequest(coordinator_keys=["group"] * (LARGE_ROWS + 1))
    answer = rig.router.answer(rig.frame(request, 4), CALLER)
    assert inspect.isawaitable(answer)
    assert len(rig.client.read(await answer)[0].coordinators) == LARGE_ROWS + 1


async def test_a_denied_operation_never_reaches_the_handler() -> None:
    def handle(*_: Any) -> ElectLeadersResponse:
        raise AssertionError

    response = await Rig(route(handle, Operation.ALTER), NOBODY).answer(elections(), 2)
    assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert response.replica_election_results[0].partition_result[0].error_code == 31


async def test_a_refusal_is_answered_with_its_code_and_message() -> None:
    def handle(*_: Any) -> ElectLeadersResponse:
        raise ApiError(ErrorCode.INVALID_REQUEST, "why not")

    response = await Rig(route(handle)).answer(elections(), 2)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.replica_election_results[0].partition_result[0].error_message == "why not"


async def test_a_handler_may_refuse_later() -> None:
    async def handle(*_: Any) -> ElectLeadersResponse:
        raise ApiError(ErrorCode.INVALID_REQUEST)

    assert (await Rig(route(handle)).answer(elections(), 2)).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("later", [False, True])
async def test_an_unexpected_exception_is_logged_and_its_details_are_not_sent(
    later: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> ElectLeadersResponse:
        raise KeyError("secret")

    async def broken_later(*_: Any) -> ElectLeadersResponse:
        raise KeyError("secret")

    response = await Rig(route(broken_later if later else broken)).answer(elections(), 2)
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert response.replica_election_results[0].partition_result[0].error_message is None
    assert "secret" in caplog.text
    assert "Traceback" in caplog.text


async def test_an_answer_that_cannot_be_encoded_is_an_unexpected_exception(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bad = ElectLeadersResponse(error_code=1 << 40)
    response = await Rig(route(lambda *_: bad)).answer(elections(), 2)
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


async def test_a_refusal_that_cannot_be_encoded_is_an_unexpected_exception(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def handle(*_: Any) -> ElectLeadersResponse:
        raise ApiError(ErrorCode.INVALID_REQUEST, "x" * 40_000)

    response = await Rig(route(handle)).answer(elections(), 2)
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


async def test_another_reason_that_cannot_be_encoded_is_an_unexpected_exception() -> None:
    rig = Rig()
    refused = rig.router.refuse(rig.frame(elections(), 2), 31, "x" * 40_000)
    assert isinstance(refused, bytes)
    assert rig.client.read(refused)[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR


async def test_a_stopped_driver_leaves_the_request_unanswered() -> None:
    async def handle(*_: Any) -> ElectLeadersResponse:
        raise DriverStoppedError

    with pytest.raises(DriverStoppedError):
        await Rig(route(handle)).answer(elections(), 2)


async def test_requests_and_errors_are_counted() -> None:
    rig = Rig(None, NOBODY)
    await rig.answer(ApiVersionsRequest("a", "1"), 3)
    await rig.answer(ListPartitionReassignmentsRequest(), 0)
    assert rig.stats.requests == {18: 1, 46: 1}
    assert rig.stats.errors == {(46, 31): 1}


@pytest.mark.parametrize(
    ("response", "large"),
    [
        (FindCoordinatorResponse(), False),
        (DeleteTopicsRequest(topic_names=["foo"] * 500), False),
        (FindCoordinatorResponse(coordinators=[Coordinator()] * 500), False),
        (FindCoordinatorResponse(coordinators=[Coordinator()] * (LARGE_ROWS + 1)), True),
        (MetadataResponse(topics=[MetadataResponseTopic()] * 3), False),
        (
            MetadataResponse(
                topics=[MetadataResponseTopic(partitions=[MetadataResponsePartition()] * (LARGE_ROWS // 2))]
                * 3
            ),
            True,
        ),
    ],
)
def test_a_response_with_many_rows_is_large(response: Any, large: bool) -> None:
    assert is_large(response) is large


@pytest.mark.parametrize("partitions", [1, 30_000], ids=["small", "large"])
async def test_a_request_can_be_refused_for_another_reason(partitions: int) -> None:
    rig = Rig()
    refused = rig.router.refuse(rig.frame(elections(partitions), 2), 31, "not you")
    answer = rig.client.read(refused if isinstance(refused, bytes) else await refused)[0]
    rows = answer.replica_election_results[0].partition_result
    assert len(rows) == partitions
    assert answer.error_code == 31
    assert rig.stats.errors == {(43, 31): 1}


def bounded(handle: Any = None, **changes: Any) -> dict[int, AnyRoute]:
    """Return a router for ElectLeaders and FindCoordinator with bounds of ten rows and ten numbers."""
    small: dict[str, Any] = {"bounds": Bounds(10, 10), **changes}
    routes = {key: ROUTES[key]._replace(**small) for key in (43, 10)}
    return routes if handle is None else {43: routes[43]._replace(handle=handle)}


def never(*_: Any) -> ElectLeadersResponse:
    raise AssertionError


@pytest.mark.parametrize("count", [11, 40_000])
async def test_a_request_beyond_its_bounds_never_reaches_the_handler(count: int) -> None:
    response = await Rig(bounded(never)).answer(elections(count), 2)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.replica_election_results == ()


async def test_a_request_beyond_its_bounds_is_refused_with_the_routes_own_error() -> None:
    response = await Rig(bounded(never, excess=ErrorCode.POLICY_VIOLATION)).answer(elections(11), 2)
    assert response.error_code == ErrorCode.POLICY_VIOLATION


async def test_the_first_rows_carry_the_error_of_a_too_large_request() -> None:
    request = FindCoordinatorRequest(coordinator_keys=[f"group-{n}" for n in range(11)])
    rows = (await Rig(bounded()).answer(request, 4)).coordinators
    assert [row.key for row in rows] == [f"group-{n}" for n in range(10)]
    text = "The request has more than 10 rows or 10 numbers; use several requests."
    assert {(row.error_code, row.error_message) for row in rows} == {(ErrorCode.INVALID_REQUEST, text)}


async def test_a_request_within_its_bounds_is_answered() -> None:
    handled = bounded(lambda *_: ElectLeadersResponse(throttle_time_ms=7))
    assert (await Rig(handled).answer(elections(10), 2)).throttle_time_ms == 7


async def test_a_denied_request_gets_its_authorization_error_even_beyond_its_bounds() -> None:
    response = await Rig(bounded(never, operation=Operation.ALTER), NOBODY).answer(elections(40_000), 2)
    assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


async def test_the_refusal_of_a_very_large_denied_request_repeats_only_its_first_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("server.dispatch.router.ECHOED", Bounds(100, 50_000))
    rig = Rig(route(never, Operation.ALTER), NOBODY)
    assert len((await rig.answer(elections(40_000), 2)).replica_election_results) == 1
    assert (await rig.answer(elections(60_000), 2)).replica_election_results == ()


async def test_a_refusal_omits_fields_that_the_version_lacks() -> None:
    response = await Rig(route(never, Operation.ALTER), NOBODY).answer(elections(), 0)
    assert response.replica_election_results[0].partition_result[0].error_code == 31
    assert response.error_code == 0


async def test_a_handler_may_close_the_connection() -> None:
    def refuses(*_: Any) -> ElectLeadersResponse:
        raise DecodeError("go away")

    async def refuses_later(*_: Any) -> ElectLeadersResponse:
        raise DecodeError("go away")

    for handle in (refuses, refuses_later):
        with pytest.raises(DecodeError, match="go away"):
            await Rig(route(handle)).answer(elections(), 2)


async def test_many_rows_are_refused_off_the_loop() -> None:
    def refuses(*_: Any) -> ElectLeadersResponse:
        raise ApiError(ErrorCode.INVALID_REQUEST, "why not")

    rig = Rig(route(refuses))
    answer = rig.router.answer(rig.frame(elections(LARGE_ROWS + 1), 2), CALLER)
    assert inspect.isawaitable(answer)
    rows = rig.client.read(await answer)[0].replica_election_results[0].partition_result
    assert {row.error_message for row in rows} == {"why not"}


async def test_a_refusal_on_the_loop_repeats_few_rows() -> None:
    rig = Rig()
    few, many = rig.frame(elections(10), 2), rig.frame(elections(100_000), 2)
    assert len(rig.client.read(refused(few, 41, "not here"))[0].replica_election_results) == 1
    answer = rig.client.read(refused(many, 41, "not here"))[0]
    assert (answer.error_code, answer.replica_election_results) == (41, ())
