"""A simulated cluster for pace: brokers with a queue each, page caches, noise, neighbours and a plan.

Virtual time only.

The latency of a produce follows the utilization of the leader and of the followers, as in a queue: it grows
without bound as a broker becomes busy. A broker's cache absorbs the first bytes of a burst.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from math import inf
from random import Random

from controller.pace.pacer import Pacer
from controller.pace.rates import WINDOW_SECONDS
from controller.pace.readings import Copied, Load, Moves, PaceMeasured, PaceSettings, Probe, Produced, Source

PROBES_PER_SECOND = 8
BASE_MS = 2.0
MOST_IN_FLIGHT = 1000


@dataclass
class Replica:
    """A replica that moves from a broker to another one."""

    source: int
    target: int
    left: float


@dataclass
class EmbeddedBrokers:
    """Brokers 1 to `count` with `capacity` bytes per second each, and a plan of equal replicas."""

    count: int = 4
    capacity: float = 100e6
    produced: float = 20e6
    """Bytes per second that producers and replication take of each broker."""
    speed: float = 40e6
    """Bytes per second of a replica that moves without a throttle."""
    cache: float = 50e6
    noise: float = 0.15
    seed: int = 1
    settings: PaceSettings = field(default_factory=PaceSettings)
    source: Source = Source.CANARY
    floors: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.pacer = Pacer()
        self.now = 1000.0
        self.neighbours = dict.fromkeys(range(1, self.count + 1), 0.0)
        """Bytes per second of other work, by broker."""
        self.waiting = {broker: deque[float]() for broker in self.neighbours}
        """The sizes of the replicas that are to be moved, by source."""
        self.moving: list[Replica] = []
        self.caches = dict.fromkeys(range(1, self.count + 1), 0.0)
        self.used = dict.fromkeys(range(1, self.count + 1), 0.0)
        self.copied = dict.fromkeys(range(1, self.count + 1), 0.0)
        self.copying = dict.fromkeys(range(1, self.count + 1), 0)
        self.throttled = {broker: deque[float](maxlen=WINDOW_SECONDS - 1) for broker in self.neighbours}
        """By broker, what was copied under its throttle in the last seconds."""
        self.sent, self.received = Counter[int](), Counter[int]()
        """By broker: replicas that have arrived from there, and there."""
        self.shrunk: set[int] = set()
        self.silent: set[int] = set()
        self.p99s: list[float] = []
        """By second: the highest latency quantile of all brokers."""
        self.moved_bytes = 0.0
        self.reported = 1.0
        """Factor of the sizes that brokers report."""

    def plan(self, replicas: int, size: float = 100e6) -> None:
        """Add replicas that move around the ring."""
        for index in range(replicas):
            self.waiting[index % self.count + 1].append(size)

    def run(self, seconds: int) -> None:
        """Let this many seconds pass."""
        for _ in range(seconds):
            self.second()

    def until_done(self, most: int = 3000) -> int:
        """Return the seconds until nothing is left to move."""
        for passed in range(most):
            if not (any(self.waiting.values()) or self.moving):
                return passed
            self.second()
        raise AssertionError(f"{len(self.moving)} replicas move after {most} s")

    def second(self) -> None:
        """Start replicas that the windows allow, copy for a second, measure, and give the reading to pace."""
        self._start()
        self._copy()
        self.now += 1
        self.pacer.tick(self.reading(), self.settings, self.loads(), frozenset(self.shrunk))

    def loads(self) -> dict[int, Load]:
        """Return the load of each broker."""
        sent, received = self._counts()
        return {
            broker: Load(
                Moves(received[broker], self.received[broker]), Moves(sent[broker], self.sent[broker])
            )
            for broker in self.neighbours
        }

    def reading(self) -> PaceMeasured:
        """Return the measurements of the last second."""
        probes = []
        for broker in self.neighbours:
            follower = broker % self.count + 1
            values = [self._latency(broker, follower) for _ in range(PROBES_PER_SECOND)]
            probes.append(Probe(broker, (follower,), values, int(broker in self.silent)))
        if self.moving:
            self.p99s.append(max(value for probe in probes for value in probe.latencies))
        copied = {
            broker: Copied(rate * self.reported, self.copying[broker]) for broker, rate in self.copied.items()
        }
        produced = Produced(self.produced * self.count, self.floors)
        shown = probes if self.source is not Source.NONE else []
        return PaceMeasured(self.now, self.source, shown, copied, produced)

    def idle_ms(self) -> float:
        """Return the mean latency of a produce without a move and neighbours."""
        return BASE_MS / (1 - self.produced / self.capacity)

    def slow_share(self, factor: float = 1.5, first: int = 0) -> float:
        """Return the share of seconds, from `first` on, in which typical produces exceeded the factor."""
        rows = self.p99s[first:]
        # The highest of 20 noisy latencies is about twice the sigma above the typical one.
        limit = factor * self.idle_ms() * (1 + 3 * self.noise)
        return sum(row > limit for row in rows) / len(rows) if rows else 0.0

    def _latency(self, leader: int, follower: int) -> float:
        busiest = max(self.used[leader], self.used[follower])
        mean = BASE_MS / (1 - min(0.98, busiest))
        return mean * self.random.lognormvariate(0, self.noise)

    def _start(self) -> None:
        """Start the next replicas of each source in turn, as the windows of source and target allow."""
        sent, received = self._counts()
        started = True
        while started:
            started = False
            for source, waiting in self.waiting.items():
                target = source % self.count + 1
                if (
                    waiting
                    and len(self.moving) < self.pacer.cluster_window
                    and sent[source] < self._window(source)
                    and received[target] < self._window(target)
                ):
                    self.moving.append(Replica(source, target, waiting.popleft()))
                    sent[source] += 1
                    received[target] += 1
                    started = True

    def _window(self, broker: int) -> int:
        row = self.pacer.brokers.get(broker)
        return MOST_IN_FLIGHT if row is None or row.window is None else row.window

    def _counts(self) -> tuple[Counter[int], Counter[int]]:
        return Counter(each.source for each in self.moving), Counter(each.target for each in self.moving)

    def _rate(self, broker: int) -> int | None:
        row = self.pacer.brokers.get(broker)
        return None if row is None else row.rate

    def _permitted(self, broker: int) -> float:
        """Return how much the throttle lets pass in the next second: its rate is a mean of ten seconds."""
        rate = self._rate(broker)
        return inf if rate is None else max(0.0, WINDOW_SECONDS * rate - sum(self.throttled[broker]))

    def _copy(self) -> None:
        """Copy for a second: each replica at its speed, within throttles and capacities."""
        sent = dict.fromkeys(self.neighbours, 0.0)
        received = dict.fromkeys(self.neighbours, 0.0)
        sending, receiving = self._counts()
        for replica in self.moving:
            shares = [self.speed]
            for broker, same in (
                (replica.source, sending[replica.source]),
                (replica.target, receiving[replica.target]),
            ):
                free = max(1e6, self.capacity - self.produced - self.neighbours[broker])
                shares.append(free / same)
                shares.append(self._permitted(broker) / same)
            moved = min(*shares, replica.left)
            replica.left -= moved
            self.moved_bytes += moved
            sent[replica.source] += moved
            received[replica.target] += moved
        arrived = [each for each in self.moving if each.left <= 1]
        self.sent.update(each.source for each in arrived)
        self.received.update(each.target for each in arrived)
        self.moving = [each for each in self.moving if each.left > 1]
        for broker, passed in self.throttled.items():
            passed.append(max(sent[broker], received[broker]) if self._rate(broker) else 0.0)
        for broker, other in self.neighbours.items():
            burst = min(sent[broker] + received[broker], self.caches[broker])
            self.caches[broker] = min(self.cache, self.caches[broker] - burst + self.cache / 10)
            self.copied[broker] = max(sent[broker], received[broker])
            self.copying[broker] = max(sending[broker], receiving[broker])
            busy = self.produced + other + sent[broker] + received[broker] - burst
            self.used[broker] = min(0.98, busy / self.capacity)
