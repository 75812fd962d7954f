"""A real Prometheus scrapes an embedded cluster whose partitions move, and evaluates the alert rules."""

from collections.abc import Iterator

import pytest

from tests.deploy.prometheus_server import Prometheus, scraping
from tests.deploy.test_alerts import ALERTS, RULES
from tests.reassignd.served import Served
from tools import dashboard


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
    for query in dashboard.queries():
        prometheus.query(query.text.replace("$job", ".*").replace("$instance", ".*"))
