"""Load of the embedded cluster, whose producers write at known rates."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from backends.client.errors import RequestTimedOutError
from backends.client.exchange import Encode
from backends.embedded.frames import EmbeddedFrames
from backends.load import sampling
from backends.load.sampler import Timing
from backends.load.sampling import NO_NUMPY, LoadSampling, Setup
from backends.load_sources import prometheus as source
from backends.load_sources.http_api import Server
from common.off_loop import InlineExecutor
from common.tasks import cancel, spawn
from controller.model.configs import (
    LOAD_METRICS_TOPIC,
    LOAD_PROMETHEUS,
    LOAD_PROMETHEUS_BROKERS,
    LOAD_SAMPLING,
)
from controller.model.load import LoadRow, LoadSort, LoadSummary, LoadUnit, Quality, Rates
from protocol.apis import ApiKey
from protocol.codec.wire import codec
from protocol.frames import ResponseFrame
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse
from protocol.messages.list_groups_response import ListedGroup, ListGroupsResponse
from protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from tests.backends.harness import SETTINGS, EmbeddedHarness
from tests.backends.load_sources.fake_prometheus import NODE, STRIMZI, FakePrometheus

TIMING = Timing(sample=10, groups=20, window=20)
HOUR_MS = 3_600_000
RATE = {"embedded.produce.bytes.per.second": "1024"}


class Frames(EmbeddedFrames):
    """The embedded brokers, of which some are late or refuse, and a group that commits offsets."""

    def __init__(self, harness: EmbeddedHarness) -> None:
        super().__init__(harness.cluster.running)
        self.late: set[int] = set()
        self.refusing: set[int] = set()
        self.refusing_groups = False
        self.offsets_of_hot: int | None = None
        """Error code in place of the offset of the hot topic, None: there is none."""
        self.offsets_error = 0
        self.committed: Callable[[], int] | None = None

    async def exchange(
        self, broker: int, key: ApiKey, versions: range, encode: Encode, seconds: float
    ) -> ResponseFrame:
        if broker in self.late:
            raise RequestTimedOutError("it did not answer within 30 s")
        if key == ApiKey.DESCRIBE_LOG_DIRS and broker in self.refusing:
            return framed(key, 4, DescribeLogDirsResponse(error_code=31))
        if key == ApiKey.LIST_OFFSETS and broker == 1 and self.offsets_of_hot is not None:
            rows = [ListOffsetsPartitionResponse(0, self.offsets_of_hot)]
            return framed(key, 9, ListOffsetsResponse(0, [ListOffsetsTopicResponse("hot", rows)]))
        if key == ApiKey.LIST_GROUPS and self.refusing_groups:
            return framed(key, 5, ListGroupsResponse(error_code=31))
        if key == ApiKey.LIST_GROUPS and self.committed is not None and broker == 1:
            return framed(key, 5, ListGroupsResponse(groups=[ListedGroup("readers", "consumer")]))
        if key == ApiKey.OFFSET_FETCH and self.committed is not None:
            await encode(versions[-1])
            committed = [OffsetFetchResponsePartitions(0, self.committed(), -1, "by one", 0)]
            topics = [OffsetFetchResponseTopics(name="hot", partitions=committed)]
            group = OffsetFetchResponseGroup("readers", topics, self.offsets_error)
            return framed(key, 9, OffsetFetchResponse(groups=[group]))
        return await super().exchange(broker, key, versions, encode, seconds)


def framed(key: ApiKey, version: int, response: Any) -> ResponseFrame:
    body = codec(type(response), version).encode(response)
    return ResponseFrame(key, version, 0, memoryview(bytes(body)))


class Sampled:
    """An embedded cluster with a hot and a cold topic, whose load is sampled."""

    def __init__(self, harness: EmbeddedHarness) -> None:
        self.harness, self.skew = harness, 0
        self.frames = Frames(harness)
        self.load = self.new_load()
        self.task = spawn(self.load.run(), "load")

    def new_load(self) -> LoadSampling:
        clock, state = self.harness.clock, self.harness.state
        setup = Setup(state, InlineExecutor(), clock, self.wall, self.harness.driver.submit, timing=TIMING)
        return LoadSampling(lambda: self.frames, setup)

    def wall(self) -> int:
        """The hours begin at a quarter to three."""
        return HOUR_MS * 3 - 900_000 + int(self.harness.clock.now() * 1000) + self.skew

    async def switch(self, value: str) -> None:
        await self.harness.configure(**{LOAD_SAMPLING: value})

    async def sampled(self, rounds: int = 2) -> "Sampled":
        await self.switch("on")
        await self.harness.advance(TIMING.sample * rounds + 4)
        return self

    def rows(self, by: LoadUnit = LoadUnit.PARTITION, sort: LoadSort = LoadSort.IN) -> list[LoadRow]:
        return list(self.load.page(by, sort, 0, 100).rows)

    def figures(self, by: LoadUnit = LoadUnit.PARTITION) -> list[tuple[object, ...]]:
        return [
            (each.broker, each.topic, round(each.rates.bytes_in or -1, 1), each.quality)
            for each in self.rows(by)
        ]


@pytest.fixture
async def world() -> AsyncIterator[Sampled]:
    harness = await EmbeddedHarness(settings=replace(SETTINGS, tick_seconds=1.0)).start()
    await harness.having({"hot-0": [1, 2, 3]}, **RATE)
    await harness.having({"cold-0": [2, 1], "cold-1": [3, 2]})
    sampled = Sampled(harness)
    yield sampled
    await cancel(sampled.task)
    await harness.stop()


async def test_nothing_is_asked_while_sampling_is_off(world: Sampled) -> None:
    await world.harness.advance(30)
    assert world.load.summary() == LoadSummary(False)
    assert (world.rows(), world.load.rates("hot", 0), world.load.by_broker()) == ([], None, ())


async def test_partitions_have_the_rates_of_their_producers(world: Sampled) -> None:
    await world.sampled()
    assert world.figures() == [
        (1, "hot", 1024.0, Quality.EXACT),
        (2, "cold", -1, Quality.EXACT),
        (3, "cold", -1, Quality.EXACT),
    ]
    assert [each.rates.bytes_in for each in world.rows()][1:] == [0, 0]


async def test_brokers_have_what_they_lead_and_replicate(world: Sampled) -> None:
    await world.sampled()
    first, second, third = world.load.by_broker()[:3]
    assert (first.rates.bytes_in, first.replication_in, first.replication_out) == (1024, 0, 2048)
    assert (second.rates.bytes_in, second.replication_in, second.replication_out) == (0, 1024, 0)
    assert (third.coverage, third.measured_ms is None) == (1, False)


async def test_topics_have_the_sum_of_their_partitions(world: Sampled) -> None:
    await world.sampled()
    assert world.figures(LoadUnit.TOPIC)[0] == (None, "hot", 1024.0, Quality.EXACT)
    assert len(world.rows(LoadUnit.TOPIC)) == 2


async def test_a_broker_that_does_not_answer_is_named_and_its_figures_become_unknown(world: Sampled) -> None:
    await world.sampled()
    world.frames.late = {1}
    await world.harness.advance(45)
    assert world.figures()[-1] == (1, "hot", -1, Quality.UNKNOWN)
    (line,) = [each for each in world.load.summary().problems if "bytes in" in each]
    assert line == "broker 1: bytes in are unknown where it leads: it did not answer within 30 s"


async def test_a_refusal_names_the_right_and_the_figure(world: Sampled) -> None:
    world.frames.refusing, world.frames.refusing_groups = {1, 2, 3, 4, 5, 6}, True
    await world.sampled()
    sizes, groups = world.load.summary().problems
    assert sizes == (
        "broker 1, 2, 3 and 3 more: DescribeLogDirs is refused (CLUSTER_AUTHORIZATION_FAILED):"
        " bytes in are unknown. Allow Describe on the cluster"
    )
    assert "ListGroups is refused" in groups
    assert groups.endswith("bytes out are unknown. Allow Describe on all groups")
    assert world.load.summary().coverage == 0


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (29, "ListOffsets of some topics is refused (TOPIC_AUTHORIZATION_FAILED)"),
        (6, "ListOffsets of some partitions: NOT_LEADER_OR_FOLLOWER"),
    ],
)
async def test_partitions_whose_offsets_are_not_told_are_unknown(
    world: Sampled, code: int, line: str
) -> None:
    world.frames.offsets_of_hot = code
    await world.sampled()
    assert world.figures()[-1] == (1, "hot", -1, Quality.UNKNOWN)
    [found] = world.load.summary().problems
    assert found.startswith(f"broker 1: {line}: their bytes in are unknown")


async def test_offsets_of_groups_that_are_refused_name_the_right(world: Sampled) -> None:
    world.frames.committed, world.frames.offsets_error = (lambda: 5), 30
    await world.sampled()
    (line,) = world.load.summary().problems
    assert line == (
        "broker 1: OffsetFetch is refused (GROUP_AUTHORIZATION_FAILED): bytes out are unknown."
        " Allow Describe on all groups"
    )


async def test_a_group_whose_coordinator_loads_makes_bytes_out_unknown(world: Sampled) -> None:
    world.frames.committed, world.frames.offsets_error = (lambda: 5), 14
    await world.sampled(6)
    assert {each.rates.bytes_out for each in world.rows()} == {None}
    assert world.load.summary().problems == [
        "broker 1: bytes out are unknown: OffsetFetch: COORDINATOR_LOAD_IN_PROGRESS"
    ]


async def test_what_groups_commit_was_read(world: Sampled) -> None:
    began = world.harness.clock.now()
    world.frames.committed = lambda: int(2 * (world.harness.clock.now() - began))
    await world.sampled(rounds=5)
    rates = world.load.rates("hot", 0)
    assert rates is not None
    assert rates.bytes_out == pytest.approx(2 * 1024, rel=0.05)
    assert world.load.rates("cold", 0) == Rates(0, 0, 0, 0, 0, 0)


async def test_bytes_out_are_known_with_the_first_rates(world: Sampled) -> None:
    world.frames.committed = lambda: int(2 * world.harness.clock.now())
    await world.sampled(rounds=1)
    await world.harness.advance(TIMING.sample * 0.4)  # The second round has ended, and the third not begun.
    rates = world.load.rates("hot", 0)
    assert rates is not None
    assert rates.bytes_in == pytest.approx(1024, rel=0.01)
    assert rates.bytes_out == pytest.approx(2 * 1024, rel=0.15)


async def test_a_move_does_not_change_what_was_measured(world: Sampled) -> None:
    await world.sampled(rounds=5)
    await world.harness.alter({"hot-0": [4, 5, 6]})
    await world.harness.until_idle()
    await world.harness.advance(TIMING.sample + 2)
    row = world.rows()[0]
    assert (row.broker, row.topic) == (4, "hot")
    assert row.rates.bytes_in == pytest.approx(1024, rel=0.01)


async def test_a_topic_made_anew_is_measured_anew(world: Sampled) -> None:
    await world.sampled(rounds=5)
    await world.harness.delete("hot")
    await world.harness.having({"hot-0": [1, 2, 3]}, **RATE)
    await world.harness.advance(TIMING.sample + 2)
    assert world.load.rates("hot", 0) == Rates()


async def test_a_clock_that_jumps_makes_the_interval_unknown(world: Sampled) -> None:
    await world.sampled(rounds=1)
    world.skew = HOUR_MS
    await world.harness.advance(TIMING.sample + 2)
    assert world.load.summary().problems[0].startswith("the clock has jumped by 3600 s")


async def test_the_profile_outlives_the_process(world: Sampled) -> None:
    await world.sampled()
    await world.harness.advance(1_000)
    assert world.load.summary().hours[2].bytes_in == pytest.approx(1024)
    await cancel(world.task)
    world.load = world.new_load()
    world.task = spawn(world.load.run(), "load")
    await world.harness.advance(5)
    rates = world.load.rates("hot", 0)
    assert rates is not None
    assert rates.bytes_in is None
    assert rates.busy_in == pytest.approx(1024, rel=0.05)
    assert rates.mean_in == pytest.approx(1024, rel=0.05)
    assert world.load.summary().busy_hour == 2


@pytest.fixture
def prometheus(world: Sampled, monkeypatch: pytest.MonkeyPatch) -> FakePrometheus:
    """A Prometheus with figures of broker 1, which leads the hot topic."""
    fake = FakePrometheus()
    fake.scrape({"instance": "one:9404"}, STRIMZI, bytes_out=5_000, bytes_in=1_024)
    fake.scrape({"instance": "one:9100"}, NODE, 0, 0)

    async def ask(server: Server, query: str) -> bytes:
        fake.now = world.wall() / 1000
        return await fake.body(server, query)

    monkeypatch.setattr(source, "Prometheus", partial(source.Prometheus, ask_url=ask))
    return fake


async def test_a_prometheus_tells_bytes_out_and_the_cpu(world: Sampled, prometheus: FakePrometheus) -> None:
    await world.harness.configure(**{LOAD_PROMETHEUS: "http://there:9090", LOAD_PROMETHEUS_BROKERS: "one=1"})
    await world.sampled(4)
    first, second = world.load.by_broker()[:2]
    assert first.rates.bytes_out == pytest.approx(5_000)
    assert first.cpu == pytest.approx(0.4)
    assert (second.rates.bytes_out, second.cpu) == (None, None)
    assert "kafka_server_brokertopicmetrics_bytesout_total" in world.load.summary().matched[0]
    assert {"bytes out unknown", "CPU unknown"} <= {
        each.split(": ")[1] for each in world.load.summary().problems
    }


async def test_when_it_disappears_its_figures_are_unknown(world: Sampled, prometheus: FakePrometheus) -> None:
    await world.harness.configure(**{LOAD_PROMETHEUS: "http://there:9090", LOAD_PROMETHEUS_BROKERS: "one=1"})
    await world.sampled(4)
    prometheus.broken = b"<html>"
    await world.harness.advance(TIMING.groups + TIMING.sample)
    first = world.load.by_broker()[0]
    assert first.rates.bytes_in == pytest.approx(1_024)
    assert (first.rates.bytes_out, first.cpu) == (None, None)
    assert world.load.summary().matched == ()


async def test_a_prometheus_is_asked_as_soon_as_it_is_set(world: Sampled, prometheus: FakePrometheus) -> None:
    await world.sampled(3)
    assert prometheus.queries == []
    assert world.load.by_broker()[0].rates.bytes_out == 0
    await world.harness.configure(**{LOAD_PROMETHEUS: "http://there:9090"})
    await world.harness.advance(TIMING.sample)
    asked = len(prometheus.queries)
    assert asked > 0
    await world.harness.configure(**{LOAD_PROMETHEUS_BROKERS: "one=1"})
    await world.harness.advance(TIMING.sample)
    assert len(prometheus.queries) > asked


async def test_a_source_behind_the_one_that_is_asked_changes_nothing(
    world: Sampled, prometheus: FakePrometheus
) -> None:
    await world.harness.configure(**{LOAD_PROMETHEUS: "http://there:9090", LOAD_PROMETHEUS_BROKERS: "one=1"})
    await world.sampled(4)
    counts = [len(prometheus.queries)]
    for topic in ("", "metrics"):
        await world.harness.configure(**{LOAD_METRICS_TOPIC: topic})
        await world.harness.advance(2 * TIMING.groups)
        counts.append(len(prometheus.queries))
    assert counts[2] - counts[1] == counts[1] - counts[0] > 0


async def test_switching_off_forgets_the_figures(world: Sampled) -> None:
    await world.sampled()
    await world.switch("off")
    await world.harness.advance(2)
    assert (world.rows(), world.load.summary().sampling) == ([], False)


async def test_without_numpy_one_line_says_so(world: Sampled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "find_spec", lambda _: None)
    await world.sampled()
    assert (world.load.summary().problems, world.rows()) == ((NO_NUMPY,), [])
