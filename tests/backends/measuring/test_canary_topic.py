from typing import Any

import pytest

from backends.client.errors import UnreachableError
from backends.measuring.canary_topic import SETTINGS, assignments, at_upstream, by_controller, problem
from common.error_codes import ErrorCode
from controller.messages.events import CreatedTopic, CreateTopics
from controller.model.errors import Outcome
from protocol.messages.create_topics_request import CreateTopicsRequest
from protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse


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
