"""Clients that know one name of several instances, of which the active one is killed every few seconds.

The environment variable REASSIGND_SHARED_NAME_ROUNDS is the number of kills.
"""

import logging
import os
import time
import urllib.error
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count, takewhile
from pathlib import Path

import pytest

from common.address import Address
from tests.clients.cluster import Cluster, wait_for
from tests.clients.java_programs import JavaAdmin, Tools
from tests.upstream.instances import Instance, new_topic
from tests.upstream.orders import MOST, Orders, by_java, by_kafka_python, by_sarama, by_tool
from tests.upstream.traffic import Reader, Traffic
from tools.kafka_cluster import KafkaCluster
from tools.ports import free_ports
from tools.shared_name import SharedName

log = logging.getLogger(__name__)

HOSTS = "127.0.0.2", "127.0.0.3"
ROUNDS = int(os.environ.get("REASSIGND_SHARED_NAME_ROUNDS", "2"))
SECONDS = 10
LIMIT = 120 + 30 * ROUNDS
PAGE = 1000


@pytest.fixture
def instances(kafka: KafkaCluster, tmp_path: Path) -> Iterator[list[Instance]]:
    """Two instances with the same ports on two addresses, and 127.0.0.1, which leads to both."""
    brokers, topic = len(kafka.brokers), new_topic()
    first = free_ports(brokers + 1)
    instances = [
        Instance(kafka, tmp_path, host, topic, at=Address(host, first), advertised_host="127.0.0.1")
        for host in HOSTS
    ]
    for instance in instances:
        instance.start()
    with SharedName("127.0.0.1", HOSTS, range(first, first + brokers + 1)):
        yield instances
    for instance in instances:
        assert instance.stop() == 0


def is_active(instance: Instance) -> bool:
    try:
        return "role: active" in instance.text("/readyz")
    except (urllib.error.URLError, OSError):
        return False


def jobs_of(instance: Instance) -> Counter[tuple[str, int]]:
    """Return how many jobs each partition is in."""
    pages = (instance.get(f"/v1/jobs?limit={PAGE}&offset={offset}")["jobs"] for offset in count(0, PAGE))
    listed = [job for page in takewhile(bool, pages) for job in page]
    parts = [part for job in listed for part in instance.get(f"/v1/jobs/{job['id']}")["partitions"]]
    return Counter((part["topic"], part["partition"]) for part in parts)


def kill_active(instances: list[Instance], clients: list[Orders]) -> None:
    """Let the clients work while the active instance is killed and started again, ROUNDS times."""
    for client in clients:
        client.start(within=ROUNDS * SECONDS)
    for _ in range(ROUNDS):
        time.sleep(SECONDS)
        wait_for(lambda: any(map(is_active, instances)), True)
        killed = next(instance for instance in instances if is_active(instance))
        killed.kill()
        killed.start()
    time.sleep(SECONDS)
    for client in clients:
        client.stop()
        assert client.broken is None, client.broken
        log.info("%s: %d acknowledged, errors: %s", client.topic, len(client.acknowledged), client.errors)
        assert client.acknowledged


@pytest.mark.timeout(LIMIT)
def test_every_acknowledged_order_is_there_once(
    instances: list[Instance], kafka: KafkaCluster, direct: Cluster, tmp_path: Path
) -> None:
    bootstrap = instances[0].bootstrap.replace(HOSTS[0], "127.0.0.1")
    a, b, c, d = direct.brokers
    java, tool, python = (direct.create_topic([[a, b]] * MOST, filled=False) for _ in range(3))
    written = direct.create_topic([[a, b], [b, c]], filled=False)
    # A reader that does not see its topic leaves it, and may read records a second time when it returns.
    wait_for(lambda: kafka.all_know(written), True)
    with Reader(bootstrap, written, 2) as reader:
        with ExitStack() as stack:
            admin, tools = stack.enter_context(JavaAdmin(bootstrap)), stack.enter_context(Tools("4.3"))
            traffic = stack.enter_context(Traffic(bootstrap, written, 2))
            clients = [
                by_java(admin, java, [c, d]),
                by_tool(tools, bootstrap, tmp_path, tool, [c, d]),
                by_kafka_python(bootstrap, python, [c, d]),
            ]
            sarama = by_sarama(bootstrap, direct.brokers)
            kill_active(instances, [*clients, *([] if sarama is None else [sarama])])
        reader.wait_for(traffic.acknowledged)
    assert clients[0].errors == []
    wait_for(lambda: any(map(is_active, instances)), True)
    orders = {(client.topic, partition) for client in clients for partition in client.acknowledged}
    jobs = jobs_of(instances[0])
    assert {order: jobs[order] for order in orders} == dict.fromkeys(orders, 1)
    assert set(jobs.values()) == {1}
    direct.wait_until_idle()
    replicas = {client.topic: direct.replicas(client.topic) for client in clients}
    assert [order for order in orders if replicas[order[0]][order[1]] != [c, d]] == []
    traffic.check()
