"""A real Prometheus scrapes an embedded cluster whose partitions move, and evaluates the alert rules."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.deploy.metric_names import as_sent
from tests.deploy.prometheus_server import Prometheus, scraping
from tests.deploy.test_alerts import ALERTS, RULES
from tests.reassignd.served import Served
from tools import dashboard_panels
from tools.ports import free_port

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    process = Served(
        folder / "data", "--demo-topics", "--override", "embedded.network.bytes.per.second=100000"
    )
    yield process
    process.process.terminate()
    process.end()


@pytest.fixture(scope="module")
def prometheus(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    target = served.line.partition("http http://")[2].partition(",")[0]
    with scraping(target, RULES, tmp_path_factory.mktemp("prometheus")) as server:
        yield server


def test_prometheus_scrapes_reassignd_without_errors(prometheus: Prometheus) -> None:
    assert prometheus.value("max_over_time(up[1m]) == 1") == 1
    assert prometheus.value("reassignd_active") == 1
    assert prometheus.value("reassignd_brokers{state='online'}") == 2


def test_the_job_label_of_prometheus_is_not_taken(prometheus: Prometheus) -> None:
    prometheus.value("reassignd_active")
    assert prometheus.query('{exported_job!=""}') == []


def test_rules_and_queries_are_evaluated_without_errors(prometheus: Prometheus) -> None:
    prometheus.value("count(ALERTS) or vector(0) and on () (timestamp(reassignd_active) > 0)")
    health = prometheus.rules()
    assert set(ALERTS) <= health.keys()
    assert set(health.values()) <= {"ok", "unknown"}
    for query in dashboard_panels.queries():
        prometheus.query(as_sent(query))


@contextmanager
def waiting_for_kafka(folder: Path) -> Iterator[str]:
    """Run a gateway whose Kafka cluster does not exist, and yield the address of its HTTP listener."""
    http, kafka = (f"127.0.0.1:{free_port()}" for _ in range(2))
    command = [
        sys.executable,
        "-m",
        "reassignd",
        "serve",
        "--backend",
        "upstream",
        "--bootstrap-server",
        kafka,
    ]
    places = ["--listener", "127.0.0.1:0", "--http", http, "--data-dir", str(folder / "data")]
    process = subprocess.Popen([*command, *places], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield http
    finally:
        process.terminate()
        process.wait(60)


def test_the_alert_that_nothing_serves_matches_a_gateway_that_never_reached_kafka(tmp_path: Path) -> None:
    expression = re.search(r"alert: ReassigndNotActive\n +expr: (.*)", RULES.read_text("utf-8"))
    assert expression is not None
    with waiting_for_kafka(tmp_path) as http, scraping(http, RULES, tmp_path) as prometheus:
        assert prometheus.value(expression[1]) == 0
        assert prometheus.value("count(reassignd_build_info)") == 1
