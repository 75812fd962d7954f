"""Bytes out and CPU from a Prometheus, in the names of each kind of exporter."""

import asyncio
from collections.abc import AsyncIterator
from math import inf, nan

import pytest

from backends.load.problems import Problems
from backends.load_sources import prometheus
from backends.load_sources.http_api import Ask, Server, ask
from backends.load_sources.instances import Instances
from backends.load_sources.prometheus import Configured, Prometheus
from backends.load_sources.source import NOTHING, Expected, Figures
from common.off_loop import InlineExecutor
from tests.backends.load_sources.fake_prometheus import (
    CONFLUENT,
    LOWERCASE,
    MSK,
    NODE,
    STRIMZI,
    FakePrometheus,
    running_prometheus,
)

HOSTS = {1: "kafka-1.kafka.svc", 2: "10.0.0.2"}
IN = {1: 50_000.0, 2: 70_000.0}


@pytest.fixture
async def fake() -> AsyncIterator[FakePrometheus]:
    async with running_prometheus() as running:
        yield running


class Asked:
    """One measurement."""

    def __init__(self, fake: FakePrometheus, **given: int) -> None:
        self.problems = Problems()
        self.wall, self.configured = 1_000.0, Configured(Server(fake.url), given)

    async def told(self, ask_url: Ask = ask) -> Figures:
        source = Prometheus(lambda: self.configured, InlineExecutor(), ask_url)
        told = await source.measure(Expected(HOSTS, IN, ()), lambda: int(self.wall * 1000), self.problems.add)
        assert told is not None
        return told

    def lines(self) -> list[str]:
        return list(self.problems.lines())


async def never(server: Server, query: str) -> bytes:
    await asyncio.Event().wait()
    raise AssertionError


def scrape_both(fake: FakePrometheus, text: str, bytes_in: float = 50_000.0) -> None:
    fake.scrape({"instance": "kafka-1.kafka.svc:9404"}, text, 200_000, bytes_in)
    fake.scrape({"instance": "10.0.0.2:9404"}, text, 300_000, 70_000)


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        (STRIMZI, "kafka_server_brokertopicmetrics_bytesout_total"),
        (MSK, "kafka_server_BrokerTopicMetrics_OneMinuteRate"),
        (LOWERCASE, "kafka_server_brokertopicmetrics_oneminuterate"),
        (CONFLUENT, "kafka_server_brokertopicmetrics_bytesoutpersec"),
    ],
)
async def test_each_kind_of_exporter_is_detected(fake: FakePrometheus, text: str, metric: str) -> None:
    scrape_both(fake, text)
    told = await Asked(fake).told()
    assert told.bytes_out == {1: {"hot": pytest.approx(200_000)}, 2: {"hot": pytest.approx(300_000)}}
    assert told.matched[0] == f"bytes out of broker 1, 2: Prometheus, {metric}"


async def test_brokers_may_have_different_exporters(fake: FakePrometheus) -> None:
    fake.scrape({"pod": "kafka-1", "instance": "172.16.0.9:9404"}, STRIMZI, 200_000, 50_000)
    fake.scrape({"instance": "10.0.0.2:11001"}, MSK, 300_000, 70_000)
    asked = Asked(fake)
    told = await asked.told()
    assert {broker: topics["hot"] for broker, topics in told.bytes_out.items()} == {
        1: pytest.approx(200_000),
        2: pytest.approx(300_000),
    }
    assert told.cpu == {2: 0.25}
    assert asked.lines() == ["broker 1: CPU unknown: Prometheus has no series of it"]


async def test_the_cpu_is_that_of_the_node_exporter(fake: FakePrometheus) -> None:
    scrape_both(fake, STRIMZI)
    fake.scrape({"instance": "kafka-1:9100"}, NODE, 0, 0)
    fake.scrape({"instance": "another-host:9100"}, NODE, 0, 0)
    fake.scrape({"instance": "10.0.0.2:9100"}, NODE, 0, 0)
    asked = Asked(fake)
    assert (await asked.told()).cpu == {1: pytest.approx(0.4), 2: pytest.approx(0.4)}
    assert asked.lines() == []


async def test_labels_that_name_no_host_are_given(fake: FakePrometheus) -> None:
    fake.scrape({"instance": "127.0.0.1:7071"}, STRIMZI, 200_000, 50_000)
    fake.scrape({"instance": "here:7072", "zone": "b"}, STRIMZI, 300_000, 70_000)
    asked = Asked(fake)
    assert (await asked.told()).bytes_out == {}
    assert asked.lines()[0] == (
        "broker 1, 2: bytes out unknown: Prometheus has no series of it, but of 127.0.0.1:7071, here:7072,"
        " which is no broker's host"
    )
    given = Asked(fake, **{"127.0.0.1:7071": 1, "here": 2})
    assert set((await given.told()).bytes_out) == {1, 2}


async def test_a_prometheus_that_lies_about_bytes_in_is_not_believed(fake: FakePrometheus) -> None:
    scrape_both(fake, STRIMZI, bytes_in=500_000)
    asked = Asked(fake)
    assert set((await asked.told()).bytes_out) == {2}
    assert asked.lines()[0] == (
        "broker 1: bytes out unknown: Prometheus has 500 kB/s in, where logs have grown by 50 kB/s"
    )


async def test_series_that_contradict_each_other_are_not_believed(fake: FakePrometheus) -> None:
    scrape_both(fake, STRIMZI)
    fake.scrape({"instance": "10.0.0.2:9404", "job": "other"}, STRIMZI, 900_000, 70_000)
    asked = Asked(fake)
    assert set((await asked.told()).bytes_out) == {1}
    assert "Prometheus has different figures of the topic hot" in asked.lines()[0]


async def test_a_broker_whose_bytes_in_contradict_each_other_is_not_believed(fake: FakePrometheus) -> None:
    scrape_both(fake, STRIMZI)
    fake.scrape({"instance": "10.0.0.2:9404", "job": "other"}, STRIMZI, 300_000, 200_000)
    asked = Asked(fake)
    assert set((await asked.told()).bytes_out) == {1}
    assert asked.lines()[0] == (
        "broker 2: bytes out unknown: Prometheus has different figures of the topic hot"
    )


async def test_another_metric_tells_what_is_no_fraction_in_the_first(fake: FakePrometheus) -> None:
    scrape_both(fake, STRIMZI + "java_lang_OperatingSystem_CpuLoad -1\n")
    fake.scrape({"pod": "kafka-1"}, "java_lang_OperatingSystem_SystemCpuLoad 0.5\n", 0, 0)
    asked = Asked(fake)
    told = await asked.told()
    assert told.cpu == {1: 0.5}
    assert told.matched[1:] == ["CPU of broker 1: Prometheus, java_lang_OperatingSystem_SystemCpuLoad"]
    assert asked.lines() == ["broker 2: CPU unknown: Prometheus says -1 of 1"]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (b"<html>", "its answer is not that of a Prometheus"),
        (b'{"status": "\xff"}', "its answer is not that of a Prometheus: a text is not UTF-8"),
        (b'{"status": "error", "error": "too many series"}', "it refuses the query: too many series"),
        (b'{"status": "success", "data": {"resultType": "scalar", "result": []}}', "a scalar in place"),
        (b'{"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}}]}}', "value"),
    ],
)
async def test_an_answer_that_makes_no_sense_is_one_line(
    fake: FakePrometheus, broken: bytes, reason: str
) -> None:
    fake.broken = broken
    asked = Asked(fake)
    assert await asked.told() == Figures({}, {}, ())
    (line,) = asked.lines()
    assert line.startswith(f"bytes out and CPU are unknown: Prometheus {fake.url}: ")
    assert reason in line


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://xn--a.example", "http://[v1.a]"])
async def test_a_prometheus_that_is_not_there_is_one_line(fake: FakePrometheus, url: str) -> None:
    asked = Asked(fake)
    asked.configured = Configured(Server(url), {})
    assert await asked.told() == Figures({}, {}, ())
    assert len(asked.lines()) == 1


async def test_an_answer_of_another_time_is_not_believed(fake: FakePrometheus) -> None:
    scrape_both(fake, STRIMZI)
    asked = Asked(fake)
    asked.wall = 2_000.0
    assert (await asked.told()).bytes_out == {}
    assert "its clock differs by 1000 s" in asked.lines()[0]


async def test_queries_that_take_long_are_not_of_another_time(fake: FakePrometheus) -> None:
    scrape_both(fake, STRIMZI)
    asked = Asked(fake)

    async def slowly(server: Server, query: str) -> bytes:
        body = await fake.body(server, query)
        fake.now = asked.wall = asked.wall + 100
        return body

    assert set((await asked.told(slowly)).bytes_out) == {1, 2}


async def test_queries_are_asked_side_by_side(fake: FakePrometheus) -> None:
    scrape_both(fake, STRIMZI)
    begun: list[str] = []

    async def late(server: Server, query: str) -> bytes:
        if query.startswith("count"):
            return await fake.body(server, query)
        begun.append(query)
        if len(begun) == 2:
            raise TimeoutError
        return await never(server, query)

    asked = Asked(fake)
    assert (await asked.told(late)).bytes_out == {}
    assert "it has not answered all queries within 60 s" in asked.lines()[0]


async def test_there_is_one_time_for_all_queries(
    fake: FakePrometheus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prometheus, "SECONDS", 0.0)
    asked = Asked(fake)
    assert await asked.told(never) == NOTHING
    assert "it has not answered all queries within 0 s" in asked.lines()[0]


async def test_a_login_is_sent_to_its_server(fake: FakePrometheus) -> None:
    scrape_both(fake, STRIMZI)
    asked = Asked(fake)
    asked.configured = Configured(Server(fake.url, "Bearer one"), {})
    assert set((await asked.told()).bytes_out) == {1, 2}
    assert fake.logins == {"Bearer one"}


@pytest.mark.parametrize(("login", "is_what"), [("", "missing"), ("Basic eA==", "refused")])
async def test_a_refused_login_is_one_line(fake: FakePrometheus, login: str, is_what: str) -> None:
    fake.status = b"401 Unauthorized"
    asked = Asked(fake)
    asked.configured = Configured(Server(fake.url, login), {})
    assert await asked.told() == NOTHING
    [line] = asked.lines()
    assert line.endswith(
        f"it answers with HTTP 401: the login in the file of prometheus.credentials.file is {is_what}"
    )


@pytest.mark.parametrize("value", [nan, inf])
async def test_a_figure_that_is_no_number_is_unknown_and_not_0(fake: FakePrometheus, value: float) -> None:
    fake.scrape({"pod": "kafka-1"}, MSK, 200_000, 50_000)
    fake.scrape({"instance": "10.0.0.2:9404"}, MSK, value, 70_000)
    asked = Asked(fake)
    told = await asked.told()
    assert str(told.bytes_out) == "{1: {'hot': 200000.0}, 2: {'hot': nan}}"
    assert asked.lines() == ["broker 2: bytes out of hot are unknown: Prometheus has no number of them"]


def test_a_name_of_several_brokers_names_none() -> None:
    instances = Instances({1: "localhost", 2: "localhost", 3: "b.one", 4: "b.two"}, {})
    labels = [{"instance": "localhost:1"}, {"pod": "b"}, {"instance": "b.one:1"}, {"broker_id": "2"}, {}]
    assert [instances.broker(each) for each in labels] == [None, None, 3, 2, None]


def test_a_given_broker_that_has_stopped_is_none() -> None:
    instances = Instances({1: "a"}, {"one": 1, "two": 2})
    assert [instances.broker({"zone": each}) for each in ("one", "two")] == [1, None]
