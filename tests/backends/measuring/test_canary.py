import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from backends.client.errors import UnreachableError
from backends.measuring.canary import (
    CREATE_SECONDS,
    LATE_SECONDS,
    LEARN_SECONDS,
    SETTINGS,
    Canary,
    assignments,
    at_upstream,
    by_controller,
    problem,
)
from common.clock import ManualClock
from common.error_codes import ErrorCode
from common.tasks import cancel, spawn
from controller.messages.events import CreatedTopic, CreateTopics
from controller.model.errors import Outcome
from controller.pace.readings import Source
from protocol.messages.create_topics_request import CreateTopicsRequest
from protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.metadata_response import MetadataResponse
from protocol.messages.produce_request import ProduceRequest
from protocol.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from tests.builders import InMemoryController, partition

TOPIC = "__reassignd_canary"


class Brokers:
    """Implements `CanaryClient`: answers after `seconds`, produces with `code`.

    It has three brokers and their canary.
    """

    def __init__(self, *, with_topic: bool = True) -> None:
        self.controller = InMemoryController(range(1, 4))
        if with_topic:
            self.controller.with_partitions(
                *(partition(f"{TOPIC}-{number - 1}", [number, number % 3 + 1]) for number in (1, 2, 3))
            )
        self.clock = ManualClock()
        self.seconds, self.code = 0.004, ErrorCode.NONE
        self.down: set[int] = set()
        self.asked: list[tuple[str, int | None]] = []
        self.created: list[tuple[str, list[int]]] = []
        self.create_problem = ""
        self.closed = False
        self.canary = Canary(self, self.controller.state, self.create, self.clock, lambda: 0)

    async def create(self, name: str, brokers: Any) -> str:
        self.created.append((name, list(brokers)))
        return self.create_problem

    async def ask(self, request: Any, broker: int | None = None) -> Any:
        self.asked.append((type(request).__name__, broker))
        if broker in self.down:
            raise UnreachableError("down")
        await self.clock.sleep(self.seconds)
        if isinstance(request, MetadataRequest):
            return MetadataResponse()
        assert isinstance(request, ProduceRequest)
        row = PartitionProduceResponse(request.topic_data[0].partition_data[0].index_, self.code)
        return ProduceResponse([TopicProduceResponse(TOPIC, partition_responses=[row])])

    async def refresh(self) -> None:
        """Nothing changes."""

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
def brokers() -> Brokers:
    return Brokers()


async def during(brokers: Brokers, work: Callable[[], Awaitable[None]]) -> None:
    """Run the canary meanwhile."""
    task = spawn(brokers.canary.run(), "canary")
    try:
        await work()
    finally:
        await cancel(task)


async def test_brokers_are_measured_often_in_a_comparison_in_which_nothing_moves(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look() -> None:
        await brokers.clock.advance(LEARN_SECONDS)
        brokers.canary.take()
        monkeypatch.setattr(type(brokers.controller.state.pace.pacer), "comparing", True)
        await brokers.clock.advance(10.0)

    await during(brokers, look)
    assert len(brokers.canary.take().probes[0].latencies) > 50


async def test_each_broker_is_measured_often_at_first_and_then_twice_a_second(brokers: Brokers) -> None:
    async def look() -> None:
        await brokers.clock.advance(LEARN_SECONDS)
        assert len(brokers.canary.take().probes[0].latencies) > 5 * LEARN_SECONDS
        await brokers.clock.advance(10.0)

    await during(brokers, look)
    taken = brokers.canary.take()
    assert (taken.source, taken.problem) == (Source.CANARY, "")
    assert [(probe.leader, tuple(probe.followers)) for probe in taken.probes] == [
        (1, (2,)),
        (2, (3,)),
        (3, (1,)),
    ]
    for probe in taken.probes:
        assert 17 <= len(probe.latencies) <= 20
        assert probe.latencies[0] == pytest.approx(4.0)
    assert {name for name, _ in brokers.asked} == {"ProduceRequest"}


async def test_while_something_moves_it_measures_at_most_seven_times_a_second(brokers: Brokers) -> None:
    brokers.controller.with_partitions(partition("foo-0", [1, 2]))
    brokers.controller.alter({"foo-0": [1, 3]})
    await during(brokers, lambda: brokers.clock.advance(10.0))
    for probe in brokers.canary.take().probes:
        assert 60 <= len(probe.latencies) <= 70


async def test_measurements_are_taken_once(brokers: Brokers) -> None:
    await during(brokers, lambda: brokers.clock.advance(3.0))
    assert brokers.canary.take().probes[0].latencies
    assert not brokers.canary.take().probes[0].latencies


async def test_a_request_without_an_answer_counts_with_its_time_and_then_as_a_timeout(
    brokers: Brokers,
) -> None:
    brokers.seconds = 60.0

    async def look() -> None:
        await brokers.clock.advance(1.0)
        [first, *_] = brokers.canary.take().probes
        assert list(first.latencies) == [pytest.approx(1000, abs=10)]
        assert not first.timeouts
        await brokers.clock.advance(LATE_SECONDS)
        assert brokers.canary.take().probes[0].timeouts == 1

    await during(brokers, look)


async def test_a_late_answer_delays_no_other_broker(brokers: Brokers) -> None:
    async def look() -> None:
        brokers.seconds = 60.0
        await brokers.clock.advance(0.01)
        brokers.seconds = 0.004
        await brokers.clock.advance(5.0)

    await during(brokers, look)
    assert len(brokers.canary.take().probes[2].latencies) >= 3


async def test_an_unreachable_broker_has_no_latencies(brokers: Brokers) -> None:
    brokers.down = {2}
    await during(brokers, lambda: brokers.clock.advance(5.0))
    probes = brokers.canary.take().probes
    assert [bool(probe.latencies) for probe in probes] == [True, False, True]
    assert not any(probe.timeouts for probe in probes)


async def test_a_produce_that_the_followers_do_not_confirm_is_a_timeout(brokers: Brokers) -> None:
    brokers.code = ErrorCode.REQUEST_TIMED_OUT
    await during(brokers, lambda: brokers.clock.advance(2.0))
    assert brokers.canary.take().probes[0].timeouts >= 1


async def test_a_missing_topic_is_created_and_round_trips_are_used_until_it_is_known() -> None:
    brokers = Brokers(with_topic=False)
    await during(brokers, lambda: brokers.clock.advance(5.0))
    assert brokers.created == [(TOPIC, [1, 2, 3])]
    taken = brokers.canary.take()
    assert taken.source is Source.ROUND_TRIPS
    assert {name for name, _ in brokers.asked} == {"MetadataRequest"}
    assert len(taken.probes[0].latencies) >= 3
    assert not taken.probes[0].followers


async def test_a_topic_that_cannot_be_created_is_said_once_and_tried_again_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    brokers = Brokers(with_topic=False)
    brokers.create_problem = "the canary topic is refused: grant CREATE"
    await during(brokers, lambda: brokers.clock.advance(CREATE_SECONDS + 5))
    assert len(brokers.created) == 2
    assert [record.message for record in caplog.records] == [
        "the canary topic is refused: grant CREATE; pace follows round trips of requests"
    ]
    assert brokers.canary.take().problem == caplog.records[0].message


async def test_a_denied_produce_leads_to_round_trips_and_is_tried_again(brokers: Brokers) -> None:
    brokers.code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    await during(brokers, lambda: brokers.clock.advance(5.0))
    taken = brokers.canary.take()
    assert taken.source is Source.ROUND_TRIPS
    assert "grant CREATE and WRITE" in taken.problem
    brokers.code = ErrorCode.NONE
    await during(brokers, lambda: brokers.clock.advance(CREATE_SECONDS))
    assert brokers.canary.take().source is Source.CANARY


async def test_records_that_are_refused_lead_to_round_trips_until_one_is_accepted(brokers: Brokers) -> None:
    brokers.code = ErrorCode.INVALID_RECORD
    sources = []

    async def look() -> None:
        for _ in range(150):
            await brokers.clock.advance(1.0)
            if brokers.clock.now() > 100:
                brokers.code = ErrorCode.NONE
            sources.append(brokers.canary.take())

    await during(brokers, look)
    problem = f"the canary topic {TOPIC} cannot be used: INVALID_RECORD; pace follows round trips of requests"
    assert {(each.source, each.problem) for each in sources[15:100]} == {(Source.ROUND_TRIPS, problem)}
    assert (sources[-1].source, sources[-1].problem) == (Source.CANARY, "")


async def test_the_time_while_it_does_not_run_does_not_count(brokers: Brokers) -> None:
    async def look() -> None:
        await brokers.clock.advance(1.0)
        brokers.canary.take()

    await during(brokers, look)
    await brokers.clock.advance(3_600.0)
    assert (brokers.canary.take().source, brokers.canary.take().problem) == (Source.CANARY, "")


async def test_without_any_answer_nothing_is_measured(brokers: Brokers) -> None:
    brokers.down = {1, 2, 3}

    found = []

    async def look() -> None:
        for seconds in (1.0, 11.0):
            await brokers.clock.advance(seconds)
            found.append(brokers.canary.take())

    await during(brokers, look)
    assert (found[0].source, found[0].problem) == (Source.CANARY, "")
    assert found[1].source is Source.NONE
    assert found[1].problem == "no broker answers the canary; pace follows nothing"


async def test_a_deleted_topic_is_named_and_created_again(brokers: Brokers) -> None:
    assert not brokers.canary.take().problem
    brokers.controller.state.cluster.partitions.pop(TOPIC)
    brokers.controller.state.cluster.topics.pop(TOPIC)
    await during(brokers, lambda: brokers.clock.advance(1.0))
    assert brokers.created == [(TOPIC, [1, 2, 3])]
    expected = f"the canary topic {TOPIC} is missing; pace follows round trips of requests"
    assert brokers.canary.take().problem == expected


async def test_its_connections_are_closed(brokers: Brokers) -> None:
    await brokers.canary.close()
    assert brokers.closed
    await asyncio.sleep(0)


class Upstream:
    """Answers CreateTopics with a code, or fails."""

    def __init__(self, code: int = 0, failure: Exception | None = None) -> None:
        self.code, self.failure = code, failure
        self.asked: list[CreateTopicsRequest] = []

    async def ask(self, request: Any, broker: int | None = None) -> Any:
        self.asked.append(request)
        if self.failure is not None:
            raise self.failure
        return CreateTopicsResponse(topics=[CreatableTopicResult("canary", error_code=self.code)])


def test_each_broker_leads_a_partition_and_follows_others() -> None:
    assert assignments([7]) == {0: (7,)}
    assert assignments([7, 8]) == {0: (7, 8), 1: (8, 7)}
    assert assignments([3, 1, 2]) == {0: (1, 2), 1: (2, 3), 2: (3, 1)}
    assert assignments([1, 2, 3, 4]) == {0: (1, 2, 3), 1: (2, 3, 4), 2: (3, 4, 1), 3: (4, 1, 2)}


async def test_the_topic_is_created_with_its_configs() -> None:
    upstream = Upstream()
    assert await at_upstream(upstream)("canary", [1, 2]) == ""
    [topic] = upstream.asked[0].topics
    assert [(row.partition_index, tuple(row.broker_ids)) for row in topic.assignments] == [
        (0, (1, 2)),
        (1, (2, 1)),
    ]
    assert {config.name: config.value for config in topic.configs} == SETTINGS


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (ErrorCode.TOPIC_ALREADY_EXISTS, ""),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "grant CREATE and WRITE on it to the user of reassignd"),
        (ErrorCode.POLICY_VIOLATION, "cannot be used: POLICY_VIOLATION"),
    ],
)
async def test_a_refusal_is_one_line_that_says_what_to_do(code: ErrorCode, text: str) -> None:
    said = await at_upstream(Upstream(code))("canary", [1])
    assert said.endswith(text)
    assert bool(said) == bool(text)


async def test_an_unreachable_upstream_is_a_problem_too() -> None:
    said = await at_upstream(Upstream(failure=UnreachableError("no broker answers")))("canary", [1])
    assert said == "the canary topic canary cannot be created: no broker answers"


async def test_a_controller_creates_the_topic_itself() -> None:
    asked: list[CreateTopics] = []

    async def submit(event: Any) -> Any:
        asked.append(event)
        return [CreatedTopic("canary", Outcome())]

    assert await by_controller(submit, lambda: b"i" * 16)("canary", [1, 2]) == ""
    [topic] = asked[0].topics
    assert (topic.name, topic.id, topic.assignments) == ("canary", b"i" * 16, {0: (1, 2), 1: (2, 1)})


def test_the_message_of_the_broker_is_repeated() -> None:
    assert problem("canary", ErrorCode.POLICY_VIOLATION, "names begin with x").endswith("names begin with x")
