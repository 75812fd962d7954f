"""A schedule in front of a real Kafka.

Its periods, their throttle, a restart, and the throughput that is measured.
"""

import json
import signal
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.clients.cluster import FAST, RATES, REPLICAS, Cluster, wait_for
from tests.reassignd.shell import Shell
from tools.processes import Reassignd

RATE = 2_000
"""Throttle in bytes per second: slow enough that no reassignment ends, fast enough to be measured."""


@pytest.fixture(autouse=True)
def no_schedule(shell: Shell) -> Iterator[None]:
    yield
    shell.ok("schedule", "none")


def at(minutes: int) -> str:
    """Return the time of day (UTC) in as many minutes."""
    return f"{datetime.now(UTC) + timedelta(minutes=minutes):%H:%M}"


def wait_for_its_start(shell: Shell) -> None:
    """Wait for the period, unless it has started."""
    now = shell.json("schedule")["now"]
    if not now["open"]:
        time.sleep(max(0, now["until_ms"] / 1000 - time.time()))


def received(gateway: Reassignd, broker: int) -> bool:
    """Return whether a sample of the throughput has bytes that the broker received."""
    with urllib.request.urlopen(f"http://{gateway.http}/v1/throughput", timeout=60) as answer:
        rows = json.load(answer)["brokers"]
    return any(rate for row in rows if row["id"] == broker for rate in row["incoming"])


def test_a_plan_waits_for_a_period_and_moves_under_its_throttle(
    cluster: Cluster, direct: Cluster, shell: Shell, gateway: Reassignd
) -> None:
    topic = cluster.create_topic([[1, 2]])
    shell.ok("schedule", f"{at(600)}-{at(660)} throttle={RATE}")
    cluster.move({f"{topic}-0": [1, 3]})
    assert gateway.kill() == -signal.SIGKILL
    gateway.start()
    wait_for(lambda: shell.json("status")["reassignments"]["waiting"], 1)
    assert (direct.reassignments(), direct.throttles(topic)) == ({}, [])
    shell.ok("schedule", f"{at(1)}-{at(60)} throttle={RATE}")
    wait_for_its_start(shell)
    wait_for(lambda: set(direct.reassignments()), {f"{topic}-0"})
    wait_for(lambda: direct.config("BROKER", "3", RATES[1]), str(RATE))
    wait_for(lambda: direct.config("TOPIC", topic, REPLICAS[1]), "0:3")
    wait_for(lambda: received(gateway, 3), True)
    shell.ok("schedule", f"00:00-24:00 throttle={FAST}")
    cluster.wait_until_idle()
    direct.wait_for_replicas(topic, [[1, 3]])
    wait_for(lambda: direct.throttles(topic), [])
