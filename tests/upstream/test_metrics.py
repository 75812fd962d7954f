"""Metrics of a gateway in front of a running Kafka, as a real Prometheus sees them."""

import urllib.request
from pathlib import Path

import pytest

from server.metrics.kafka_names import PREFIX
from tests.clients.cluster import Cluster
from tests.deploy.prometheus_server import PATIENCE_SECONDS, scraping
from tests.deploy.test_alerts import RULES
from tools.processes import Reassignd


@pytest.fixture
def target(gateway: Reassignd) -> str:
    return gateway.http.removeprefix("http://")


def test_a_gateway_exports_nothing_under_kafka_s_names(target: str) -> None:
    with urllib.request.urlopen(f"http://{target}/metrics", timeout=PATIENCE_SECONDS) as page:
        lines = page.read().decode().splitlines()
    assert not [line for line in lines if line.startswith(PREFIX)]


def test_prometheus_sees_brokers_polls_and_relayed_requests(
    target: str, cluster: Cluster, tmp_path: Path
) -> None:
    with scraping(target, RULES, tmp_path) as prometheus:
        assert prometheus.value('reassignd_brokers{state="online"}') == 4
        assert prometheus.value('reassignd_upstream_polls_total{result="ok"} > 0') > 0
        assert 0 <= prometheus.value("time() - reassignd_upstream_last_poll_timestamp_seconds") < 60
        assert prometheus.value('reassignd_relayed_requests_total{request="Metadata"} > 0') > 0
        assert prometheus.query('ALERTS{severity="critical",alertstate="firing"}') == []
