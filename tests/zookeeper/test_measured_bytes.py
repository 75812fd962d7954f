"""Sizes of replicas from DescribeLogDirs.

Progress in bytes, the limit of concurrent bytes, and the step timeout.
"""

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from backends.measuring.sizes import SELDOM_SECONDS
from tests.clients.java_programs import Tools
from tests.zookeeper.site import Site, wait_for
from tests.zookeeper.test_moves import limit
from tests.zookeeper.test_rollbacks import newest_job, reassignd

BYTES = "reassignment.max.concurrent.bytes"
TIMEOUT = "reassignment.step.timeout.ms"
KILOBYTES = 200
ROUND_SECONDS = 60.0
"""Between two samples of the load."""
POLL_SECONDS = 2.5 * SELDOM_SECONDS
"""Time for a new poll of sizes: the pause after a slow poll is long."""


@pytest.fixture(autouse=True)
def idle_cluster(site: Site, tools: Tools) -> Iterator[None]:
    yield
    site.release()
    left = {BYTES, TIMEOUT} & (site.znode("/config/brokers/<default>") or {"config": {}})["config"].keys()
    if left:
        limit(site, tools, "--delete-config", ",".join(left))
    site.wait_until_idle()


def smallest_partition(site: Site, topic: str) -> int:
    """Return the measured size of the topic's smallest partition; 0 while one is not measured."""
    rows = (json.loads(line) for line in reassignd(site, "snapshot").stdout.splitlines())
    return min(int(row["bytes"] or 0) for row in rows if row.get("topic") == topic)


def asked(site: Site, path: str) -> Any:
    """Return an answer of the API."""
    with urllib.request.urlopen(f"http://{site.commander.http}/v1/{path}", timeout=10) as answer:
        return json.load(answer)


def copied_bytes(site: Site, job: int) -> Any:
    """Return the copied and total bytes of a job from the API."""
    return asked(site, f"jobs/{job}")["job"]["copied"] or {"bytes": 0, "total": 0}


def fill_and_measure(site: Site, topic: str) -> None:
    """Fill the topic and wait until its size is measured. A new job starts a poll of all sizes."""
    site.fill(topic, len(site.partitions(topic)), KILOBYTES)
    other = site.create_topic([[1, 2]])
    site.reassign(other, {0: [3, 2]})
    wait_for(lambda: smallest_partition(site, topic) >= KILOBYTES * 1000, True, POLL_SECONDS)
    site.wait_until_idle()


def test_a_job_reports_copied_and_total_bytes(site: Site) -> None:
    topic = site.create_topic([[1, 2]])
    site.hold(topic)
    fill_and_measure(site, topic)
    site.reassign(topic, {0: [3, 2]})
    job = newest_job(site)
    wait_for(lambda: copied_bytes(site, job)["total"] >= KILOBYTES * 1000, True)
    wait_for(lambda: 0 < copied_bytes(site, job)["bytes"] < copied_bytes(site, job)["total"], True)


def test_concurrent_bytes_are_limited(site: Site, tools: Tools) -> None:
    topic = site.create_topic([[1, 2], [1, 2], [1, 2]])
    site.hold(topic)
    fill_and_measure(site, topic)
    limit(site, tools, "--add-config", f"{BYTES}={KILOBYTES * 1500}")
    site.reassign(topic, {number: [3, 2] for number in range(3)})
    topic_path = f"/brokers/topics/{topic}"
    wait_for(lambda: len(site.znode(topic_path)["adding_replicas"]), 1)
    assert len(site.reassignments()) == 3
    limit(site, tools, "--delete-config", BYTES)
    wait_for(lambda: len(site.znode(topic_path)["adding_replicas"]), 3)


def test_a_stalled_step_is_undone_and_repeated_later(site: Site, tools: Tools) -> None:
    topic = site.create_topic([[1, 2]])
    site.hold(topic)
    fill_and_measure(site, topic)
    site.reassign(topic, {0: [4, 2]})
    site.wait_for_hosts(topic, 0, {1, 2, 4})
    site.cluster.kill_broker(4)
    limit(site, tools, "--add-config", f"{TIMEOUT}=2000")
    wait_for(lambda: site.znode(f"/brokers/topics/{topic}")["partitions"]["0"], [1, 2])
    assert list(site.reassignments()) == [f"{topic}-0"]
    site.cluster.start_broker(4)
    site.cluster.wait_for_broker(4)
    site.release()
    site.wait_until_idle()
    site.wait_for_replicas(topic, [[4, 2]])


def partitions_with_load(site: Site) -> list[Any]:
    """Return the partitions of the API, the one with the most bytes in first; none before a round."""
    found = asked(site, "load?by=partition&limit=1000")
    assert found["problems"] == []
    rows: list[Any] = found["rows"]
    return rows


def rate_in(site: Site, topic: str, partition: int) -> tuple[bool, str] | None:
    """Return whether producers write to a partition, and how exact that is; None before a round."""
    for row in partitions_with_load(site):
        if (row["topic"], row["partition"]) == (topic, partition):
            return bool(row["rates"]["in"]), row["quality"]
    return None


def test_the_load_of_each_partition_is_measured(site: Site) -> None:
    topic = site.create_topic([[1, 2], [2, 3]])
    assert reassignd(site, "load", "--sampling", "on").returncode == 0
    try:
        wait_for(lambda: rate_in(site, topic, 0), (False, "unknown"), 2 * ROUND_SECONDS)
        site.fill(topic, 1, KILOBYTES)
        wait_for(lambda: rate_in(site, topic, 0), (True, "exact"), 3 * ROUND_SECONDS)
        assert rate_in(site, topic, 1) == (False, "exact")
    finally:
        assert reassignd(site, "load", "--sampling", "off").returncode == 0
