"""Simulated replication: data flows between brokers as a clock runs. No I/O, no sleeping.

Only replicas out of the ISR are simulated. Replicas in the ISR have all data of their leader by definition, and their
traffic is not counted. Each tick serves a bounded number of replicas of each broker in turn, as a broker's fetcher threads
do, so that the cost of a tick does not grow with the number of moving replicas.

KIP-73: throttles. KIP-352: bytes of reassignments are counted in addition to the bytes of all replication.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from math import inf

from backends.embedded.throttles import Throttles
from controller.model.cluster import TopicPartition

SERVED = 128
"""Replicas that one broker fetches in one tick."""


@dataclass(slots=True)
class Volume:
    """The data of each partition of a topic: `size` bytes at time `since`, growing by `rate` bytes per second."""

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

    A fetch ends when the follower has reached its leader's end and `caught_up` returns True, which means that the leader
    has noted it. Otherwise `caught_up` is called again in the next tick.
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
        # The first follower may use up its leaders' budgets. It is last in the next tick, so that all make progress.
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
