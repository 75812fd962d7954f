"""Replication throttles (KIP-73, KIP-113), from the same configs as in Kafka.

A rate limits a broker as leader or as follower. It applies only to replicas that are listed and out of the ISR. Another rate
limits moves between the broker's log directories.
"""

from collections.abc import Mapping
from math import inf

from controller.configs.names import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    LOG_DIRS_RATE,
)
from controller.configs.values import CLUSTER_DEFAULT
from controller.model.cluster import ResourceType, TopicPartition
from controller.state.state import State

Listed = frozenset[tuple[int, int]] | None
"""(partition, broker) pairs of one topic; None stands for all replicas."""


class Throttles:
    """The throttles in the current configs. Call `refresh` when a resource has changed."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._leaders: dict[str, Listed] = {}
        self._followers: dict[str, Listed] = {}
        for resource, name in state.configs:
            self.refresh(resource, name)

    def refresh(self, resource: ResourceType, name: str) -> None:
        """Parse the lists of a topic again. Rates are looked up at each use."""
        if resource is not ResourceType.TOPIC:
            return
        configs = self._state.configs.get((resource, name), {})
        _update(self._leaders, name, configs.get(LEADER_REPLICAS, ""))
        _update(self._followers, name, configs.get(FOLLOWER_REPLICAS, ""))

    def leader_rate(self, broker: int) -> float:
        """Return the bytes per second that the broker may send to listed replicas; infinity without a throttle."""
        return self._rate(broker, LEADER_RATE)

    def follower_rate(self, broker: int) -> float:
        """Return the bytes per second that the broker may fetch for listed replicas; infinity without a throttle."""
        return self._rate(broker, FOLLOWER_RATE)

    def log_dirs_rate(self, broker: int) -> float:
        """Return the bytes per second that the broker may move between its directories; infinity without a throttle."""
        return self._rate(broker, LOG_DIRS_RATE)

    def limits_leader(self, key: TopicPartition, broker: int) -> bool:
        """Return whether the broker is listed as a throttled leader of the partition."""
        return _is_listed(self._leaders, key, broker)

    def limits_follower(self, key: TopicPartition, broker: int) -> bool:
        """Return whether the broker is listed as a throttled follower of the partition."""
        return _is_listed(self._followers, key, broker)

    def _rate(self, broker: int, config: str) -> float:
        state = self._state
        value = state.config(ResourceType.BROKER, str(broker), config)
        if value is None:
            value = state.config(ResourceType.BROKER, CLUSTER_DEFAULT, config)
        return inf if value is None else float(value)


def _update(lists: dict[str, Listed], topic: str, value: str) -> None:
    if value.strip():
        lists[topic] = _parse(value)
    else:
        lists.pop(topic, None)


def _parse(value: str) -> Listed:
    """Parse `*` or comma-separated `partition:broker` pairs. The controller has validated them."""
    if value.strip() == "*":
        return None
    pairs = (entry.split(":") for entry in value.replace(" ", "").split(",") if entry)
    return frozenset((int(partition), int(broker)) for partition, broker in pairs)


def _is_listed(lists: Mapping[str, Listed], key: TopicPartition, broker: int) -> bool:
    if key.topic not in lists:
        return False
    listed = lists[key.topic]
    return listed is None or (key.partition, broker) in listed
