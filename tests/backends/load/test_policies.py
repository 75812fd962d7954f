"""Which topics are compacted, by what brokers tell of their configs."""

from collections.abc import Sequence

import numpy as np

from backends.client.errors import RequestTimedOutError
from backends.client.exchange import Encode
from backends.load.columns import Samples
from backends.load.layout import Layout, Topic
from backends.load.policies import ALL_SECONDS, REFUSED_SECONDS, Policies
from backends.load.problems import Problems
from common.clock import ManualClock
from common.error_codes import ErrorCode
from common.off_loop import InlineExecutor
from protocol.apis import ApiKey
from protocol.codec.wire import codec
from protocol.frames import ResponseFrame
from protocol.messages.describe_configs_request import DescribeConfigsRequest
from protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)

SILENT = 7
"""A broker that does not answer."""


class AskedPolicies:
    """A broker that tells the policies of topics, and the samples that follow them."""

    def __init__(self, **policies: str) -> None:
        self.policies, self.error, self.is_late = policies, 0, False
        self.key = "cleanup.policy"
        self.asked: list[list[str]] = []
        self.clock, self.problems = ManualClock(), Problems()
        self.samples = Samples(Layout([Topic(each, each.encode(), 2) for each in policies]))
        self.followed = Policies(self, InlineExecutor(), self.clock, 1.0)

    async def exchange(
        self, broker: int, key: ApiKey, versions: range, encode: Encode, seconds: float
    ) -> ResponseFrame:
        version = versions[-1]
        request = codec(DescribeConfigsRequest, version).decode(memoryview(await encode(version)))
        self.asked.append([each.resource_name for each in request.resources])
        if self.is_late or broker == SILENT:
            raise RequestTimedOutError("it did not answer within 30 s")
        rows = [self._row(each.resource_name) for each in request.resources]
        answer = codec(DescribeConfigsResponse, version).encode(DescribeConfigsResponse(0, rows))
        return ResponseFrame(key, version, 0, memoryview(answer))

    def _row(self, name: str) -> DescribeConfigsResult:
        configs = [DescribeConfigsResourceResult(self.key, self.policies[name])]
        return DescribeConfigsResult(self.error, None, 2, name, () if self.error else configs)

    async def close(self) -> None: ...

    async def follow(self, seconds: float = 60.0, live: Sequence[int] = (1,)) -> "AskedPolicies":
        await self.clock.advance(seconds)
        self.problems.begin()
        await self.followed.follow(live, self.samples, self.problems)
        return self

    def known(self) -> list[bool]:
        known: list[bool] = self.followed.known(np.arange(self.samples.layout.size)).tolist()
        return known


async def test_topics_are_asked_for_once() -> None:
    told = await (await AskedPolicies(a="delete", b="compact", c="compact,delete").follow()).follow()
    assert told.samples.compacted.tolist() == [False, False, True, True, True, True]
    assert (told.asked, all(told.known())) == ([["a", "b", "c"]], True)


async def test_a_new_topic_is_asked_for_alone() -> None:
    told = await AskedPolicies(a="delete").follow()
    told.policies["b"] = "compact"
    told.samples = told.samples.moved_to(Layout([Topic("a", b"a", 2), Topic("b", b"b", 1)]))
    await told.follow()
    assert told.asked[1:] == [["b"]]
    assert told.samples.compacted.tolist() == [False, False, True]


async def test_a_log_that_shrank_is_a_cause_to_ask_again() -> None:
    told = await AskedPolicies(a="delete", b="compact").follow()
    told.samples.compacted[0] = True
    await told.follow()
    assert told.asked[1:] == [["a"]]
    assert told.samples.compacted.tolist() == [False, False, True, True]


async def test_new_partitions_of_a_compacted_topic_are_compacted() -> None:
    told = await AskedPolicies(a="compact", b="delete").follow()
    told.samples = told.samples.moved_to(Layout([Topic("a", b"a", 3), Topic("b", b"b", 2)]))
    await told.follow()
    assert told.samples.compacted.tolist() == [True, True, True, False, False]
    assert len(told.asked) == 1


async def test_a_log_that_shrank_counts_as_compacted_until_a_broker_tells_else() -> None:
    told = await AskedPolicies(a="delete").follow()
    told.samples.compacted[0] = told.is_late = True
    await told.follow()
    assert told.samples.compacted.tolist() == [True, False]
    told.is_late = False
    await told.follow()
    assert not told.samples.compacted.any()


async def test_policies_that_were_changed_are_found_in_time() -> None:
    told = await AskedPolicies(a="delete").follow()
    told.policies["a"] = "compact"
    await told.follow(ALL_SECONDS)
    assert told.samples.compacted.all()


async def test_what_is_not_told_is_not_known_and_is_asked_for_again() -> None:
    told = AskedPolicies(a="compact")
    told.is_late = True
    assert not any((await told.follow()).known())
    assert list(told.problems.lines()) == [
        "broker 1: bytes in of topics whose cleanup.policy it does not tell: it did not answer within 30 s"
    ]
    told.is_late = False
    assert all((await told.follow()).known())


async def test_another_broker_is_asked_if_one_does_not_answer() -> None:
    told = await (await AskedPolicies(a="compact").follow(live=[SILENT, 8])).follow(live=[SILENT, 8])
    assert (len(told.asked), all(told.known())) == (2, True)


async def test_an_answer_without_the_policy_counts_as_a_refusal() -> None:
    told = AskedPolicies(a="compact")
    told.key = "retention.ms"
    assert not any((await (await told.follow()).follow()).known())
    assert len(told.asked) == 1
    assert "refused (UNKNOWN_SERVER_ERROR)" in next(iter(told.problems.lines()))


async def test_a_refusal_names_the_right_and_is_not_repeated_each_minute() -> None:
    told = AskedPolicies(a="compact")
    told.error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    await (await told.follow()).follow()
    assert len(told.asked) == 1
    [line] = told.problems.lines()
    assert line == (
        "DescribeConfigs of some topics is refused (TOPIC_AUTHORIZATION_FAILED): their bytes in are unknown."
        " Allow DescribeConfigs on all topics"
    )
    told.error = 0
    await told.follow(REFUSED_SECONDS)
    assert (all(told.known()), list(told.problems.lines())) == (True, [])
