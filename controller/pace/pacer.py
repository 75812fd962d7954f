"""Pace for all brokers: from a reading, how much each broker may move, and why.

It learns the latency without a move (the *idle level*) while nothing moves, and during a move in comparisons.
It has no clock: times are those of the readings.

The control law, once a second for each broker. With `ratio` = latency / target and `i` = idle level / target,
a queue whose latency is `idle / (1 - used)` has

    used   = 1 - i / ratio                     the share of the free capacity that the move takes
    aim    = 0.75 * (1 - i)                    the share that it should take
    factor = min(aim / used, 1.5)              `effort.permitted`

    ratio > 1:       effort := min(effort, replicas in flight) * between(0.3, factor, 0.6)
    factor >= 1.25:  effort := effort * factor, up to 0.8 of where the broker was slow last; beyond in probes
    else:            effort stays

The window of the broker is the effort; below 1 its replicas move in turns. Its throttle is `unit *
effort` while more replicas than the effort last for a second (`rates`).
"""

from collections.abc import Mapping, Set
from statistics import median
from typing import NamedTuple

from common.rates import in_rate
from controller.model.limits import UNLIMITED
from controller.pace.effort import FLOOR, UNKNOWN_IDLE, Activity, Effort, Turns
from controller.pace.latency import (
    SHORT_SECONDS,
    Comparisons,
    LatencyWindow,
    Levels,
    ProbeKey,
    Ratio,
    broker_ratios,
)
from controller.pace.rates import Rate
from controller.pace.readings import Load, PaceMeasured, PaceSettings, Source

BLIND_WINDOW = 2
"""Replicas to and from each broker while no latency is measured."""
FLOOR_SECONDS = 10.0
"""Slow at the floor for so long: the move is not what makes the broker slow."""
QUIET_SECONDS = 3.0
"""Latencies are idle ones when nothing has moved for this time."""
ENDED_SECONDS = 30.0
"""After this time without a move, the next one begins with small efforts."""
FREE_SECONDS = 8.0
"""So long after the last throttle, what brokers copy shows how fast they are. Sizes are measured every 3
s."""
JUMP_SECONDS = 10.0
"""A longer gap between readings, or time that goes back, makes old latencies useless."""


class BrokerPace(NamedTuple):
    """What pace does at one broker."""

    broker: int
    latency: float | None
    """Of the last seconds, in ms, of the broker's probe as the leader. None if it is not known."""
    target: float | None
    effort: float | None
    """Replicas that may move to it and from it at once; below 1 one in turns, or throttled. None: no
    limit."""
    window: int | None
    rate: int | None
    """The throttle in bytes per second; None for none."""
    activity: Activity
    reason: str


class _Chosen(NamedTuple):
    """What a broker may do in the next second. Without `window` it has no limit."""

    effort: float | None
    window: int | None
    activity: Activity
    reason: str


class _Reported(NamedTuple):
    """What `log_lines` has reported last."""

    stopped: frozenset[int] = frozenset()
    problem: str = ""
    unmeasured: bool = False
    """Whether the problem was one of the measurement."""
    comparing: bool = False


class Pacer:
    """Follows the readings."""

    def __init__(self) -> None:
        self.brokers: dict[int, BrokerPace] = {}
        self.cluster_window = 1
        """How many partitions may move in the cluster."""
        self.problem = ""
        """Why the target cannot be kept, or what is not measured, in one line."""
        self._unmeasured = False
        """Whether the problem is one of the measurement."""
        self.source = Source.NONE
        self._windows: dict[ProbeKey, LatencyWindow] = {}
        self._windows_of: dict[int, list[tuple[int, LatencyWindow]]] = {}
        """By broker, those of the probes in which it takes part, each with its leader."""
        self._efforts: dict[int, Effort] = {}
        self._rates: dict[int, Rate] = {}
        self._turns: dict[int, Turns] = {}
        self._loads: Mapping[int, Load] = {}
        """At the last reading."""
        self._comparisons = Comparisons()
        self._shrunk: Set[int] = frozenset()
        self._slow_at_floor_since: dict[int, float] = {}
        self._at = self._moved_at = self._stepped_at = self._throttled_at = float("-inf")
        """Of the last reading; when something moved last, or may have moved unseen; when it was seen to move;
        and when a broker was throttled last."""
        self._reported = _Reported()

    @property
    def comparing(self) -> bool:
        """Whether the brokers move little at present, to measure the latency without the move."""
        return self._comparisons.running

    @property
    def reversals(self) -> int:
        """How often efforts have changed their direction since the first step of the present moves."""
        return sum(effort.reversals for effort in self._efforts.values())

    def tick(
        self, reading: PaceMeasured, settings: PaceSettings, loads: Mapping[int, Load], shrunk: Set[int]
    ) -> None:
        """Update `brokers`.

        `shrunk` are brokers that left the ISR of a partition that does not move, or that lead one.
        """
        now = reading.at
        self._check_continuity(reading)
        moving = any(self._moved(broker, load) for broker, load in loads.items())
        if moving:
            self._moved_at = self._stepped_at = now
        elif now - self._moved_at > ENDED_SECONDS:
            self._reset()
        self._add(reading, idle=now - self._moved_at > QUIET_SECONDS)
        silent = {probe.leader for probe in reading.probes if probe.timeouts}
        hard = (shrunk - self._shrunk) | silent
        self._shrunk = shrunk
        self._learn_rates(reading, loads)
        unused = reading.produced is not None and reading.produced.everywhere <= 0
        if unused or settings.latency_ms is not None or self.source is Source.NONE:
            self._comparisons.give_up(now, self._windows.values())
        elif moving or self.comparing:
            self._compare(now)
        median_idle = self._median_idle()
        ratios = self._ratios(settings, median_idle)
        before, self.brokers = self.brokers, {}
        for broker, load in sorted(loads.items()):
            if unused:
                chosen = _Chosen(
                    None, None, Activity.HOLDING, "no producer writes: there is nothing to spare"
                )
            else:
                chosen = self._choose(broker, settings, load, ratios.get(broker), broker in hard)
            row = self._row(broker, reading, settings, load, chosen, median_idle)
            self.brokers[broker] = self._with_latency(row, before.get(broker))
        self.cluster_window = self._most_in_cluster(loads)
        self._loads = loads
        self._unmeasured = bool(reading.problem)
        self.problem = reading.problem or self._unreached(settings)

    def log_lines(self) -> list[str]:
        """Return what is worth a line in the log since the last call.

        Problems, comparisons, and stops of brokers.
        """
        stopped = {
            broker
            for broker, row in self.brokers.items()
            if row.effort == FLOOR and row.activity is Activity.BACKING_OFF
        }
        lines = [
            f"broker {broker} moves as little as possible: {self.brokers[broker].reason}"
            for broker in sorted(stopped - self._reported.stopped)
        ]
        if self.problem != self._reported.problem:
            lines.append(self.problem or self._recovery())
        if self.comparing and not self._reported.comparing:
            lines.append("little moves for some seconds, to measure the latency without the move")
        self._reported = _Reported(frozenset(stopped), self.problem, self._unmeasured, self.comparing)
        return lines

    def _recovery(self) -> str:
        """Return that the problem of the last `log_lines` has ended."""
        if self._reported.unmeasured:
            return f"the latency is measured again: pace follows {self.source}"
        return "the target can be kept again"

    # ---- measurements --------------------------------------------------------------------------------------

    def _check_continuity(self, reading: PaceMeasured) -> None:
        if reading.source is not self.source:
            # Latencies of different kinds cannot be compared.
            self._windows.clear()
            self.source = reading.source
        if not 0 <= reading.at - self._at <= JUMP_SECONDS:
            for window in self._windows.values():
                window.forget_recent()
            self._reset()
            self._moved_at = reading.at
        self._at = reading.at

    def _reset(self) -> None:
        """Begin the next moves with small efforts, and without a throttle."""
        self._efforts.clear()
        self._rates.clear()
        self._turns.clear()
        self._slow_at_floor_since.clear()
        self._comparisons = Comparisons()

    def _add(self, reading: PaceMeasured, *, idle: bool) -> None:
        present = {(probe.leader, tuple(probe.followers)): probe for probe in reading.probes}
        for key in self._windows.keys() - present.keys():
            del self._windows[key]
        for key, probe in present.items():
            window = self._windows.setdefault(key, LatencyWindow())
            window.add(reading.at, probe.latencies, idle=idle)
            window.follow_falling_idle()
        self._windows_of = {}
        for (leader, followers), window in self._windows.items():
            for broker in (leader, *followers):
                self._windows_of.setdefault(broker, []).append((leader, window))

    def _learn_rates(self, reading: PaceMeasured, loads: Mapping[int, Load]) -> None:
        if any(rate.value is not None for broker, rate in self._rates.items() if broker in loads):
            self._throttled_at = reading.at
        free = reading.at - self._throttled_at > FREE_SECONDS
        for broker in self._rates.keys() - (reading.copied or {}).keys():
            # Of replicas that arrive between two measurements nothing is known.
            self._rates[broker].used = True
        for broker, copied in (reading.copied or {}).items():
            if broker in loads:
                self._rates.setdefault(broker, Rate()).learn(copied, free=free)

    def _ratios(self, settings: PaceSettings, median_idle: Levels) -> dict[int, Ratio]:
        ratios = {
            key: _ratio(window, _idle(window, median_idle), settings) for key, window in self._windows.items()
        }
        return broker_ratios({key: ratio for key, ratio in ratios.items() if ratio is not None})

    def _median_idle(self) -> Levels:
        """Return the medians of the idle levels of all probes.

        Zeros, which raise no level, if none is known.
        """
        known = [window.idle for window in self._windows.values() if window.idle is not None]
        return Levels(*map(median, zip(*known, strict=True))) if known else Levels(0, 0)

    def _forget_of(self, broker: int) -> None:
        """Judge the broker by its next latencies alone, because it moves less now."""
        for _, window in self._windows_of.get(broker, ()):
            window.forget_recent()

    def _compare(self, now: float) -> None:
        if self._comparisons.follow(now, self._windows.values()):
            for effort in self._efforts.values():
                effort.reconsider()

    # ---- brokers -------------------------------------------------------------------------------------------

    def _choose(
        self, broker: int, settings: PaceSettings, load: Load, ratio: Ratio | None, hard: bool
    ) -> _Chosen:
        effort = self._efforts.setdefault(broker, Effort())
        if hard and self._moved(broker, load):
            effort.stop(self._at, load.in_flight)
            self._rates.setdefault(broker, Rate()).act_now()
            self._forget_of(broker)
            reason = "a replica left the ISR, or a request was not answered in time"
            return _Chosen(effort.level, 1, effort.activity, reason)
        if self.comparing:
            reason = "moves little to measure the latency without the move"
            return _Chosen(FLOOR, 0, Activity.LEARNING, reason)
        if self.source is Source.NONE:
            return _Chosen(BLIND_WINDOW, BLIND_WINDOW, Activity.HOLDING, "no latency is measured")
        reason = self._follow(broker, effort, ratio, load)
        window = (
            0
            if settings.holds and self._is_slow_at_floor(broker)
            else self._window(broker, effort.level, load)
        )
        return _Chosen(effort.level, window, effort.activity, reason)

    def _window(self, broker: int, effort: float, load: Load) -> int:
        """Return how many replicas may move at once.

        Below 1 it is one in turns, unless a throttle slows it.
        """
        throttled = self._rates.setdefault(broker, Rate()).value is not None
        moving = load.in_flight > 0 and not throttled
        turn = self._turns.setdefault(broker, Turns()).follow(effort, moving=moving)
        return max(int(effort), int(turn or throttled))

    def _follow(self, broker: int, effort: Effort, found: Ratio | None, load: Load) -> str:
        """Adjust the effort of a broker; return why."""
        if found is None:
            return "waits for measurements"
        ratio = found.now
        moves = self._at - self._stepped_at <= ENDED_SECONDS
        moved = self._moved(broker, load)
        # How many replicas that arrived between two readings moved at once is not known: at least one.
        used = max(load.in_flight, min(moved, 1))
        limited = moves and used + 1 > effort.level and self._rates.setdefault(broker, Rate()).used
        most = max(load.in_flight, min(moved, max(1, int(effort.level))))
        if effort.follow(
            self._at,
            ratio,
            most,
            idle=found.idle,
            limited=limited,
            slowness=found.seconds / SHORT_SECONDS,
        ):
            self._forget_of(broker)
        if ratio <= 1 or effort.level > FLOOR:
            self._slow_at_floor_since.pop(broker, None)
        elif moved:
            self._slow_at_floor_since.setdefault(broker, self._at)
        if ratio > 1:
            return f"the latency is {ratio:.1f} times the target"
        if not limited:
            return "less moves than may"
        return f"the latency is {ratio:.0%} of the target"

    def _moved(self, broker: int, load: Load) -> int:
        """Return how many replicas have moved there since the last reading."""
        return load.moved(self._loads.get(broker, load))

    def _most_in_cluster(self, loads: Mapping[int, Load]) -> int:
        """Return how many partitions may move: as many as the sum of the efforts, beside those that last.

        Brokers whose turns are at the same time then move no more than brokers that take turns one after the
        other. A throttled broker needs no turns.
        """
        rows = self.brokers.values()
        if any(row.effort is None for row in rows):
            return UNLIMITED
        efforts = ((row.effort if row.rate is None else row.window) or 0 for row in rows)
        changes = [(load, self._loads.get(broker, Load())) for broker, load in loads.items()]
        lasting = max(
            sum(now.incoming.lasting(before.incoming) for now, before in changes),
            sum(now.outgoing.lasting(before.outgoing) for now, before in changes),
        )
        return max(1, int(sum(efforts))) + lasting

    def _row(
        self,
        broker: int,
        reading: PaceMeasured,
        settings: PaceSettings,
        load: Load,
        chosen: _Chosen,
        median_idle: Levels,
    ) -> BrokerPace:
        needed = 0.0 if reading.produced is None else reading.produced.floors.get(broker, 0.0)
        rate = self._rates.setdefault(broker, Rate())
        effort = chosen.effort
        if effort is None or load.throttled_by_others:
            effort = load.in_flight
        rate.follow(effort, load.in_flight, needed, lasting=load.lasting(self._loads.get(broker, Load())))
        latency, target = self._seen(broker, settings, median_idle)
        return BrokerPace(
            broker,
            latency,
            target,
            chosen.effort,
            chosen.window,
            rate.value,
            chosen.activity,
            chosen.reason,
        )

    def _with_latency(self, row: BrokerPace, before: BrokerPace | None) -> BrokerPace:
        """Return the row, with the previous latency and target if it has no latency.

        After a back-off only new latencies count, of which there are none for a second.
        """
        if row.latency is not None or before is None or self.source is Source.NONE:
            return row
        return row._replace(latency=before.latency, target=before.target)

    def _seen(
        self, broker: int, settings: PaceSettings, median_idle: Levels
    ) -> tuple[float | None, float | None]:
        """Return the latency and the target of the slowest probe that the broker leads."""
        rows = [
            (short, settings.target(None if (idle := _idle(window, median_idle)) is None else idle.short))
            for leader, window in self._windows_of.get(broker, ())
            if leader == broker and (short := window.short()) is not None
        ]
        return max(rows, key=lambda row: row[0], default=(None, None))

    # ---- targets that cannot be kept -----------------------------------------------------------------------

    def _is_slow_at_floor(self, broker: int) -> bool:
        since = self._slow_at_floor_since.get(broker)
        return since is not None and self._at - since >= FLOOR_SECONDS

    def _unreached(self, settings: PaceSettings) -> str:
        """Return why the target cannot be kept.

        With a factor, first compare: others may make the broker slow.
        """
        broker = next((broker for broker in self.brokers if self._is_slow_at_floor(broker)), None)
        if broker is None:
            return ""
        row, rate = self.brokers[broker], self._rates[broker]
        if not rate.at_floor:
            if settings.latency_ms is None:
                self._comparisons.request(self._at)
                self._slow_at_floor_since.clear()
                return ""
            rate.distrust()
        why = "although as little moves as possible"
        if rate.at_floor and row.rate is not None:
            why = f"the partitions that move take {in_rate(row.rate)} of producers' data"
        return f"cannot keep {settings.text} at broker {broker}: {why}"


def _idle(window: LatencyWindow, median_idle: Levels) -> Levels | None:
    """Return the idle level of a probe, at least the median of all.

    That of a few requests is easily too low.
    """
    return None if window.idle is None else Levels(*map(max, window.idle, median_idle))


def _ratio(window: LatencyWindow, idle: Levels | None, settings: PaceSettings) -> Ratio | None:
    """Return the latency as a multiple of its target, by the worse of both measures.

    The result is None if the latency is not known.
    """
    found = []
    for measured, level in zip((window.short(), window.long()), idle or (None, None), strict=True):
        target = settings.target(level)
        if measured is not None and target is not None:
            idle_ratio = UNKNOWN_IDLE if level is None else level / target
            found.append(Ratio(measured / target, idle_ratio, window.seconds()))
    return max(found, default=None)
