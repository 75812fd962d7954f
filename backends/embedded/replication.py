"""Simulated replication: data flows between brokers as a clock runs. No I/O, no sleeping.

Throttles (KIP-73, KIP-113) come from the same configs as in Kafka. A rate limits a broker as leader or as
follower. It applies only to replicas that are listed and out of the ISR. Another rate limits moves between
the broker's log directories.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import Protocol

from common.address import Address
from controller.model.cluster import Replicas, ResourceType, TopicPartition
from controller.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    LOG_DIRS_RATE,
)
from controller.state.settings import CLUSTER_DEFAULT
from controller.state.state import State

Listed = frozenset[tuple[int, int]] | None
"""(partition, broker) pairs of one topic; None stands for all replicas."""


class Throttles:
    """The throttles in the current configs. Call `refresh` when a resource has changed."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._leaders: dict[str, Listed] = {}
        self._followers: dict[str, Listed] = {}
        for resource, name in state.settings.configs:
            self.refresh(resource, name)

    def refresh(self, resource: ResourceType, name: str) -> None:
        """Parse the lists of a topic again. Rates are looked up at each use."""
        if resource is not ResourceType.TOPIC:
            return
        configs = self._state.settings.configs.get((resource, name), {})
        _update(self._leaders, name, configs.get(LEADER_REPLICAS, ""))
        _update(self._followers, name, configs.get(FOLLOWER_REPLICAS, ""))

    def leader_rate(self, broker: int) -> float:
        """Return the bytes per second that the broker may send to listed replicas.

        Infinity without a throttle.
        """
        return self._rate(broker, LEADER_RATE)

    def follower_rate(self, broker: int) -> float:
        """Return the bytes per second that the broker may fetch for listed replicas.

        Infinity without a throttle.
        """
        return self._rate(broker, FOLLOWER_RATE)

    def log_dirs_rate(self, broker: int) -> float:
        """Return the bytes per second that the broker may move between its directories.

        Infinity without a throttle.
        """
        return self._rate(broker, LOG_DIRS_RATE)

    def limits_leader(self, key: TopicPartition, broker: int) -> bool:
        """Return whether the broker is listed as a throttled leader of the partition."""
        return _is_listed(self._leaders, key, broker)

    def limits_follower(self, key: TopicPartition, broker: int) -> bool:
        """Return whether the broker is listed as a throttled follower of the partition."""
        return _is_listed(self._followers, key, broker)

    def _rate(self, broker: int, config: str) -> float:
        state = self._state
        value = state.settings.config(ResourceType.BROKER, str(broker), config)
        if value is None:
            value = state.settings.config(ResourceType.BROKER, CLUSTER_DEFAULT, config)
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


SERVED = 128
"""Replicas that one broker fetches in one tick."""


@dataclass(slots=True)
class Volume:
    """The data of each partition of a topic.

    `size` bytes at time `since`, growing by `rate` bytes per second.
    """

    size: float
    rate: float
    since: float
    declared: float = 0.0
    """The size that the settings or configs gave last."""

    def end(self, now: float) -> float:
        """Return the bytes in a leader's log."""
        return self.size + self.rate * (now - self.since)


@dataclass(slots=True)
class Log:
    """The data of one replica: the first `position` bytes, or all of the leader's (None)."""

    position: float | None = None

    def bytes(self, volume: Volume, now: float) -> float:
        """Return the bytes in the log."""
        end = volume.end(now)
        return end if self.position is None else min(self.position, end)


@dataclass(slots=True)
class Fetch:
    """A follower's log that catches up with its leader; `adding` if a reassignment adds the follower."""

    key: TopicPartition
    follower: int
    leader: int
    log: Log
    adding: bool


@dataclass(slots=True)
class Traffic:
    """Bytes that a broker has received and sent for replicas that catch up (Kafka: BrokerTopicMetrics)."""

    replication_in: float = 0.0
    replication_out: float = 0.0
    reassignment_in: float = 0.0
    reassignment_out: float = 0.0


@dataclass(slots=True)
class Network:
    """A broker's network: its speed, and what is left of the current tick's budgets in bytes."""

    factor: float = 1.0
    up: bool = False
    incoming: float = 0.0
    outgoing: float = 0.0
    throttled_in: float = 0.0
    throttled_out: float = 0.0


class Replication:
    """All fetches of the cluster. `volume` returns a topic's data.

    A fetch ends when the follower has reached its leader's end and `caught_up` returns True, which means that
    the leader has noted it. Otherwise `caught_up` is called again in the next tick.
    """

    def __init__(
        self,
        rate: float,
        throttles: Throttles,
        volume: Callable[[str], Volume],
        caught_up: Callable[[Fetch], bool],
        now: float = 0.0,
    ) -> None:
        self._rate, self._throttles, self._volume, self._caught_up = rate, throttles, volume, caught_up
        self._now = now
        self._fetches: dict[int, OrderedDict[TopicPartition, Fetch]] = {}
        """By follower, in the order in which replicas are served."""
        self._order: list[int] = []
        """Followers in the order in which they are served."""
        self.networks: dict[int, Network] = {}
        self.traffic: dict[int, Traffic] = {}

    def add_broker(self, broker: int) -> None:
        """Add a broker that is not running."""
        self.networks[broker] = Network()
        self.traffic[broker] = Traffic()
        self._fetches[broker] = OrderedDict()
        self._order.append(broker)

    def start(self, fetch: Fetch) -> None:
        """Start a fetch, or continue one from another leader."""
        if fetch.log.position is None:
            fetch.log.position = self._volume(fetch.key.topic).end(self._now)
        self._fetches[fetch.follower][fetch.key] = fetch

    def stop(self, follower: int, key: TopicPartition) -> None:
        """Stop a fetch, if there is one. The log stays as it is."""
        self._fetches[follower].pop(key, None)

    def stop_all(self, follower: int) -> None:
        """Stop all fetches of a broker."""
        self._fetches[follower].clear()

    def waiting(self, follower: int) -> int:
        """Return how many replicas of the broker are catching up."""
        return len(self._fetches[follower])

    def tick(self, now: float) -> None:
        """Move data until `now`."""
        seconds, self._now = now - self._now, now
        for broker, network in self.networks.items():
            self._refill(broker, network, seconds)
        behind = [follower for follower in self._order if self._fetches[follower]]
        for follower in behind:
            self._serve(follower, now)
        # The first follower may use up its leaders' budgets. It is last in the next tick, so that all make
        # progress.
        for follower in behind[:1]:
            self._order.remove(follower)
            self._order.append(follower)

    def _refill(self, broker: int, network: Network, seconds: float) -> None:
        budget = self._rate * network.factor * seconds if network.up else 0.0
        network.incoming = network.outgoing = budget
        network.throttled_in = _budget(self._throttles.follower_rate(broker), seconds)
        network.throttled_out = _budget(self._throttles.leader_rate(broker), seconds)

    def _serve(self, follower: int, now: float) -> None:
        """Fetch the follower's next replicas; those that are served go to the end of its queue."""
        network, queue = self.networks[follower], self._fetches[follower]
        if network.incoming <= 0:
            return
        served = list(islice(queue.values(), SERVED))
        for index, fetch in enumerate(served):
            queue.move_to_end(fetch.key)
            leader = self.networks.get(fetch.leader)
            if leader is None or not leader.up:
                continue
            behind = self._volume(fetch.key.topic).end(now) - (fetch.log.position or 0.0)
            # Each replica gets an equal share of what is left. What one cannot use remains for the others.
            moved = self._move(fetch, min(behind, network.incoming / (len(served) - index)))
            if moved >= behind - 1e-6 and self._caught_up(fetch):
                fetch.log.position = None
                del queue[fetch.key]

    def _move(self, fetch: Fetch, wanted: float) -> float:
        """Move up to `wanted` bytes, as all budgets on the way allow; return the moved bytes."""
        source, target = self.networks[fetch.leader], self.networks[fetch.follower]
        at_leader = self._throttles.limits_leader(fetch.key, fetch.leader)
        at_follower = self._throttles.limits_follower(fetch.key, fetch.follower)
        moved = max(
            0.0,
            min(
                wanted,
                source.outgoing,
                source.throttled_out if at_leader else inf,
                target.throttled_in if at_follower else inf,
            ),
        )
        fetch.log.position = (fetch.log.position or 0.0) + moved
        source.outgoing -= moved
        target.incoming -= moved
        source.throttled_out -= moved if at_leader else 0.0
        target.throttled_in -= moved if at_follower else 0.0
        self._count(fetch, moved)
        return moved

    def _count(self, fetch: Fetch, moved: float) -> None:
        source, target = self.traffic[fetch.leader], self.traffic[fetch.follower]
        source.replication_out += moved
        target.replication_in += moved
        if fetch.adding:
            source.reassignment_out += moved
            target.reassignment_in += moved


def _budget(rate: float, seconds: float) -> float:
    return inf if rate == inf else rate * seconds


@dataclass(slots=True)
class Replica:
    """The state from the last LeaderAndIsr request, and the data."""

    log: Log
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: Replicas
    replicas: Replicas
    adding: Replicas


class Leader(Protocol):
    """A broker, as its requests to the controller need it."""

    id: int
    epoch: int
    replicas: dict[TopicPartition, Replica]

    @property
    def controller(self) -> Address:
        """The controller's address. Raises ConnectionError while it is not known."""
        ...

    def accept(self, key: TopicPartition, leader_epoch: int, partition_epoch: int, isr: Replicas) -> None:
        """Store the controller's ISR, unless its epochs are older than the known ones."""
        ...
