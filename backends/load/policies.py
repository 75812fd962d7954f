"""Which topics are compacted, by their `cleanup.policy` (DescribeConfigs).

A compacted log may lose as much in an interval as was written, so its growth tells nothing, even before it
has shrunk for the first time. Until the policy of a topic is known, its bytes in are unknown.
"""

from collections.abc import Sequence, Set

import numpy as np

from backends.client.errors import BrokerError
from backends.client.exchange import ask
from backends.load.asking import Brokers
from backends.load.columns import Flags, Samples
from backends.load.layout import Layout, Topic
from backends.load.problems import Problems, refusal
from backends.load.wire import Ints
from common.clock import Clock
from common.error_codes import ErrorCode
from common.off_loop import OffLoop
from controller.model.cluster import ResourceType
from protocol.codec.errors import DecodeError
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_configs_response import DescribeConfigsResult

POLICY = "cleanup.policy"
VERSIONS = range(1, 5)
CHUNK = 500
"""Topics in a request."""
ALL_SECONDS = 6 * 3_600.0
"""Between two questions for all topics: their policies may have changed."""
REFUSED_SECONDS = 300.0
"""Between two questions for topics of which brokers have refused to tell it."""


class Policies:
    """What is known of the topics of a layout."""

    def __init__(self, brokers: Brokers, off_loop: OffLoop, clock: Clock, timeout: float) -> None:
        self._brokers, self._off_loop, self._clock, self._timeout = brokers, off_loop, clock, timeout
        self._told: dict[bytes, bool] = {}
        """Whether topics are compacted, by key."""
        self._refused: dict[bytes, int] = {}
        """Error codes in place of it."""
        self._all_at = self._refused_at = clock.now()
        self._turn = 0
        """Number of requests so far: brokers are asked in turn, as one of them may not answer."""
        self._layout = Layout()
        self._known: Flags = np.zeros(0, np.bool_)
        """Of each topic of the layout, whether it is in `_told`."""

    async def follow(self, live: Sequence[int], samples: Samples, problems: Problems) -> None:
        """Ask for topics that are new or have shrunk, and seldom for all, and tell `samples`."""
        due, told = await self._off_loop.run(self._due, samples), set[bytes]()
        for start in range(0, len(due), CHUNK) if live else ():
            broker = live[self._turn % len(live)]
            self._turn += 1
            try:
                told |= await self._ask(broker, due[start : start + CHUNK])
            except (BrokerError, DecodeError) as error:
                problems.add(f"bytes in of topics whose {POLICY} it does not tell: {error}", broker)
        await self._off_loop.run(self._tell, samples, told)
        for code in sorted(set(self._refused.values())):
            right = "DescribeConfigs on all topics"
            problems.add(refusal("DescribeConfigs of some topics", code, right, "their bytes in"))

    def known(self, rows: Ints) -> Flags:
        """Return of which rows it is known whether they are compacted."""
        known: Flags = self._known[self._layout.topic_of[rows]]
        return known

    def _due(self, samples: Samples) -> list[Topic]:
        layout, now = samples.layout, self._clock.now()
        if now - self._all_at >= ALL_SECONDS:
            self._all_at = now
            return list(layout.topics)
        if now - self._refused_at >= REFUSED_SECONDS:
            self._refused_at = now
            self._refused.clear()
        shrunk = set(np.unique(layout.topic_of[np.flatnonzero(samples.compacted)]).tolist())
        return [
            topic
            for number, topic in enumerate(layout.topics)
            if topic.key not in self._refused
            and (not self._told.get(topic.key, False) if number in shrunk else topic.key not in self._told)
        ]

    async def _ask(self, broker: int, topics: Sequence[Topic]) -> set[bytes]:
        """Ask for some topics; return the keys of those that were told. Raises BrokerError, DecodeError."""
        request = DescribeConfigsRequest(
            [DescribeConfigsResource(ResourceType.TOPIC, each.name, (POLICY,)) for each in topics]
        )
        exchange = self._brokers.exchange
        answer = await ask(exchange, self._off_loop, broker, request, VERSIONS, self._timeout)
        keys = {each.name: each.key for each in topics}
        results = [each for each in answer.results if each.resource_name in keys]
        return {keys[each.resource_name] for each in results if self._take(keys[each.resource_name], each)}

    def _take(self, key: bytes, result: DescribeConfigsResult) -> bool:
        """Note an answer, and return whether it tells the policy."""
        policy = next((each.value for each in result.configs if each.name == POLICY), None)
        if policy is not None:
            self._told[key] = "compact" in policy.split(",")
            self._refused.pop(key, None)
        elif result.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            self._refused[key] = result.error_code or ErrorCode.UNKNOWN_SERVER_ERROR
        return policy is not None

    def _tell(self, samples: Samples, told: Set[bytes]) -> None:
        layout = samples.layout
        if layout is not self._layout:
            keys = {each.key for each in layout.topics}
            self._told = {key: told for key, told in self._told.items() if key in keys}
            self._refused = {key: code for key, code in self._refused.items() if key in keys}
        elif not told:
            return
        # Partitions can be new, so all topics that are compacted are named. That a topic is not compacted
        # counts only now: its logs may have shrunk since it was told.
        codes = [
            1 if self._told.get(each.key, False) else 0 if each.key in told else -1 for each in layout.topics
        ]
        samples.tell_compacted(np.array(codes, np.int8))
        self._layout = layout
        self._known = np.array([each.key in self._told for each in layout.topics], np.bool_)
