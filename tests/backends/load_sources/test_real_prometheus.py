"""The queries of each kind of exporter, answered by a real Prometheus from series of the last ten minutes."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.load.problems import Problems
from backends.load_sources.http_api import Server
from backends.load_sources.prometheus import Configured, Prometheus
from backends.load_sources.source import Expected, Figures
from common.off_loop import InlineExecutor
from tests.backends.load_sources.fake_prometheus import CONFLUENT, LOWERCASE, MSK, NODE, STRIMZI
from tests.deploy.programs import program
from tests.deploy.prometheus_server import running, write_blocks

SECONDS, STEP = 600, 15
HOSTS = {1: "strimzi", 2: "msk", 3: "lower", 4: "confluent"}
TEXTS = {1: STRIMZI + NODE, 2: MSK, 3: LOWERCASE, 4: CONFLUENT}
OUT, IN = 200_000.0, 50_000.0


def samples(now: float) -> Iterator[tuple[str, str]]:
    """Yield the name of each metric and a line of the OpenMetrics format."""
    for broker, text in TEXTS.items():
        for at in range(0, SECONDS + 1, STEP):
            counted = {"out": OUT * at, "in_": IN * at, "total": 9 * at, "idle": 0.6 * at}
            for line in text.format(out_rate=OUT, in_rate=IN, **counted).splitlines():
                if line and not line.startswith("#"):
                    series, value = line.rsplit(" ", 1)
                    name, _, labels = series.partition("{")
                    labels = labels.rstrip("},")
                    instance = f'instance="{HOSTS[broker]}:9404"'
                    labelled = f"{name}{{{f'{labels},' if labels else ''}{instance}}}"
                    yield name, f"{labelled} {value} {now - SECONDS + at:.3f}"


def series() -> str:
    """Return the samples, those of each metric together."""
    by_name: dict[str, list[str]] = {}
    for name, line in samples(time.time()):
        by_name.setdefault(name, []).append(line)
    lines = [each for name, rows in by_name.items() for each in (f"# TYPE {name} unknown", *rows)]
    return "\n".join([*lines, "# EOF", ""])


async def told_by(url: str, problems: Problems) -> Figures:
    source = Prometheus(lambda: Configured(Server(url), {}), InlineExecutor())
    expected = Expected(HOSTS, dict.fromkeys(HOSTS, IN), ())
    told = await source.measure(expected, lambda: int(time.time() * 1000), problems.add)
    assert told is not None
    return told


async def test_a_real_prometheus_answers_each_query(tmp_path: Path) -> None:
    program("prometheus")
    write_blocks(series(), tmp_path)
    problems = Problems()
    with running("global: {scrape_interval: 15s}\n", tmp_path) as server:
        told = await told_by(server.url, problems)
    assert {broker: topics["hot"] for broker, topics in told.bytes_out.items()} == dict.fromkeys(
        HOSTS, pytest.approx(OUT, rel=0.02)
    )
    assert told.cpu == {1: pytest.approx(0.4, rel=0.02), 2: 0.25}
    assert [line.partition(" unknown")[0] for line in problems.lines()] == ["broker 3, 4: CPU"]
