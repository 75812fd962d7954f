"""Several instances before one cluster: one is active, the others relay and take over."""

import signal
import time
import urllib.error
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer
from kafka.admin import NewTopic

from backends.upstream.client import UpstreamClient
from common.address import Address
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.upstream.instances import Instance, new_topic
from tests.upstream.topics import create, move, replicas, until
from tools.kafka_cluster import KafkaCluster, admin_client

TAKE_OVER_SECONDS = 60
"""Much longer than a session: the machine may be busy."""
SESSION_MS = "10000"
"""It does not end by itself on a busy machine; that of a killed instance ends soon enough for a test."""


@pytest.fixture
def pair(kafka: KafkaCluster, tmp_path: Path) -> Iterator[tuple[Instance, Instance]]:
    """The active instance and a standby."""
    topic = new_topic()
    first, second = (
        Instance(kafka, tmp_path, name, topic, gateway_session_timeout_ms=SESSION_MS)
        for name in ("first", "second")
    )
    instances = first, second
    for instance in instances:
        instance.start()
    yield instances
    for instance in instances:
        if instance.runs:
            instance.resume()
            assert instance.stop() == 0


def eventually(look: Callable[[], Any], expected: Any) -> None:
    """Wait until `look` returns the value; an instance that does not answer is asked again."""
    deadline, seen = time.monotonic() + TAKE_OVER_SECONDS, None
    while time.monotonic() < deadline:
        try:
            if (seen := look()) == expected:
                return
        except (urllib.error.URLError, OSError) as error:
            seen = error
        time.sleep(0.1)
    assert seen == expected


def role(instance: Instance) -> str:
    return instance.text("/readyz").splitlines()[1]


async def limit(bootstrap: str, value: str) -> None:
    """Set the limit on partition movements through the port."""
    host, _, port = bootstrap.partition(":")
    client = UpstreamClient([Address(host, int(port))])
    config = AlterableConfig("reassignment.max.concurrent.partition.movements", 0, value)
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(4, "", [config])], False)
    (row,) = (await client.ask(request)).responses
    assert row.error_code == 0, row
    await client.close()


async def planned(client: UpstreamClient, instance: Instance, partitions: int) -> str:
    """Create a topic on brokers 1 and 2, order its move to 3 and 4 at the instance, return its name."""
    topic = await create(client, [(1, 2)] * partitions)
    await limit(instance.bootstrap, "1")
    host, _, port = instance.bootstrap.partition(":")
    through = UpstreamClient([Address(host, int(port))])
    response = await move(through, topic, [(3, 4)] * partitions)
    assert response.error_code == 0, response
    await through.close()
    return topic


@pytest.mark.tour
async def test_a_killed_active_instance_is_replaced_and_the_plan_goes_on(
    pair: tuple[Instance, Instance], client: UpstreamClient
) -> None:
    first, second = pair
    topic = await planned(client, first, 8)
    first.kill()
    eventually(lambda: role(second), "role: active")
    await limit(second.bootstrap, "8")
    await until(lambda: replicas(client, topic), [(3, 4)] * 8)
    first.start()
    eventually(lambda: role(first), "role: standby")
    assert [job["state"] for job in first.get("/v1/jobs")["jobs"]] == ["ended"]


async def test_a_clean_stop_hands_the_term_over_at_once(
    pair: tuple[Instance, Instance], client: UpstreamClient
) -> None:
    first, second = pair
    topic = await planned(client, second, 4)
    assert first.stop() == 0
    eventually(lambda: role(second), "role: active")
    await limit(second.bootstrap, "8")
    await until(lambda: replicas(client, topic), [(3, 4)] * 4)
    assert "the term could not be released" not in first.log


async def test_a_suspended_active_instance_becomes_a_standby(
    pair: tuple[Instance, Instance], client: UpstreamClient
) -> None:
    first, second = pair
    topic = await planned(client, first, 4)
    first.send(signal.SIGSTOP)
    eventually(lambda: role(second), "role: active")
    first.send(signal.SIGCONT)
    eventually(lambda: role(first), "role: standby")
    await limit(first.bootstrap, "8")
    await until(lambda: replicas(client, topic), [(3, 4)] * 4)


def test_both_instances_give_brokers_the_same_ports(pair: tuple[Instance, Instance]) -> None:
    offsets = [[port - instance.ports[0] for port in instance.ports] for instance in pair]
    assert offsets[0] == offsets[1]


def write_foreign(kafka: KafkaCluster, topic: str, key: bytes, value: bytes) -> None:
    """Write a row as another program would."""
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap, acks="all")
    producer.send(topic, key=key, value=value).get(timeout=30)
    producer.close()


def test_a_row_that_another_program_overwrites_is_written_again(
    kafka: KafkaCluster, pair: tuple[Instance, Instance]
) -> None:
    first, second = pair
    write_foreign(kafka, first.topic, b'["ports"]', b"{}")
    eventually(lambda: "1 of its keys are written again" in first.log, True)
    first.kill()
    eventually(lambda: role(second), "role: active")
    assert second.ports[0] + 1 in second.ports
    assert "assigns a port" not in second.log


@pytest.mark.parametrize(
    ("meta", "line"),
    [
        (b'{"format": 9}', "has format 9, and this version knows formats up to 1: start the newer version"),
        (b'{"format": 1, "upstream_cluster_id": "other"}', "has the records of cluster other, not of"),
    ],
)
def test_records_that_are_not_for_this_instance_are_refused(
    kafka: KafkaCluster, tmp_path: Path, meta: bytes, line: str
) -> None:
    instance = Instance(kafka, tmp_path, "only", new_topic())
    instance.start()
    assert instance.stop() == 0
    write_all(kafka, instance.topic, meta)
    with pytest.raises(RuntimeError):
        instance.start()
    assert line in instance.log


def write_all(kafka: KafkaCluster, topic: str, meta: bytes) -> None:
    """Replace the topic by one with this meta row only."""
    with admin_client(kafka.bootstrap) as admin:
        admin.delete_topics([topic])
        deadline = time.monotonic() + TAKE_OVER_SECONDS
        while topic in admin.list_topics() and time.monotonic() < deadline:
            time.sleep(0.2)
        admin.create_topics(
            [
                NewTopic(
                    topic,
                    1,
                    3,
                    topic_configs={"cleanup.policy": "compact", "compression.type": "uncompressed"},
                )
            ]
        )
    write_foreign(kafka, topic, b'["meta"]', meta)


def test_a_deleted_topic_ends_the_term_and_nobody_is_active(
    kafka: KafkaCluster, pair: tuple[Instance, Instance]
) -> None:
    first, second = pair
    with admin_client(kafka.bootstrap) as admin:
        admin.delete_topics([first.topic])
    line = "no instance is active; steps in flight go on"
    eventually(lambda: line in first.log and line in second.log, True)
    eventually(lambda: all("was deleted" in obstacle(instance) for instance in pair), True)
    assert first.runs
    assert second.runs


def obstacle(instance: Instance) -> str:
    try:
        return instance.text("/readyz")
    except urllib.error.HTTPError as error:
        return str(error.read(), "utf-8")
