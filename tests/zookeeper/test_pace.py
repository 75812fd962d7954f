"""Pace where reassignd is the controller.

A plan under load ends, and neither throttles nor replicas stay behind.
"""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.zookeeper.load import Load
from tests.zookeeper.site import Site, wait_for

CANARY = "__reassignd_canary"
PARTITIONS = 6
"""At the least effort, one of them starts every few seconds."""
UNREACHABLE_MS = 0.01
"""A target that cannot be kept: brokers move as little as possible. What moves for long is throttled."""


@pytest.fixture(autouse=True)
def pace_off(site: Site) -> Iterator[None]:
    yield
    limit(site, pace=None, **{"pace.ms": None})
    site.wait_until_idle()
    site.admin.delete_topics([CANARY])


def limit(site: Site, **limits: Any) -> None:
    """Change limits through the API: kafka-python's admin client sets no cluster-wide configs."""
    httpx.put(f"http://{site.commander.http}/v1/limits", json=limits).raise_for_status()


def throttles(site: Site) -> list[str]:
    """Return the throttles in the configs of brokers."""
    configs = [site.znode(f"/config/brokers/{broker}") or {} for broker in site.cluster.brokers]
    return [name for each in configs for name in each.get("config", {}) if "throttled" in name]


def test_a_plan_under_load_ends_and_leaves_no_throttle(site: Site) -> None:
    topic = site.create_topic([[1, 2]] * PARTITIONS)
    site.fill(topic, PARTITIONS)
    limit(site, pace="auto", **{"pace.ms": UNREACHABLE_MS})
    wait_for(lambda: site.has_znode(f"/brokers/topics/{CANARY}"), True)
    with Load(site.cluster.bootstrap, topic, 2) as load:
        site.reassign(topic, {number: [1, 3] for number in range(PARTITIONS)})
        site.wait_until_idle()
    load.check()
    site.wait_for_replicas(topic, [[1, 3]] * PARTITIONS)
    wait_for(lambda: throttles(site), [])
