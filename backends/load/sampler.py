"""Asks all brokers for sizes and offsets once a minute, and for committed offsets every five minutes."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from backends.client.errors import BrokerError
from backends.load.answers import Answers
from backends.load.appended import Appended
from backends.load.asking import Brokers
from backends.load.columns import Answer, Samples
from backends.load.groups import Groups
from backends.load.kept_hours import KeptHours
from backends.load.layout import Layout, Topic
from backends.load.policies import Policies
from backends.load.problems import Problems, refusal
from backends.load.profile import hour_of, hour_of_day
from backends.load.split import known_sums, split
from backends.load.view import View
from backends.load.wire import (
    LOG_DIRS_VERSIONS,
    OFFSETS_VERSIONS,
    Ints,
    Refused,
    log_dirs_request,
)
from backends.load_sources.source import NOTHING, Expected, Figures, Source
from common.clock import Clock
from common.off_loop import OffLoop
from common.tasks import side_by_side
from controller.model.cluster import NO_ID
from controller.model.load import LoadRow, LoadSummary
from controller.state.state import State
from protocol.apis import ApiKey
from protocol.codec.errors import DecodeError
from protocol.frames import ResponseFrame

log = logging.getLogger(__name__)

AT_ONCE = 4
"""Brokers that are asked at once."""
SPREAD = 0.5
"""Fraction of the time between two rounds over which a round is spread."""
SLICE = 5_000
"""Partitions whose leaders are read before other tasks run."""
CLOCK_SLACK = 5.0
"""Seconds by which the two clocks may differ after a round: else one of them has jumped."""


class Timing(NamedTuple):
    """In seconds: between two rounds, between two questions for groups, of a window, and of a request."""

    sample: float = 60.0
    groups: float = 300.0
    window: float = 300.0
    timeout: float = 30.0


class Sampler:
    """Samples until it is cancelled. `wall_ms` gives the milliseconds since 1970."""

    def __init__(
        self,
        brokers: Brokers,
        state: State,
        off_loop: OffLoop,
        clock: Clock,
        wall_ms: Callable[[], int],
        timing: Timing,
        hours: KeptHours,
        sources: Sequence[Source],
    ) -> None:
        self._brokers, self._state, self._off_loop = brokers, state, off_loop
        self._clock, self._wall_ms, self._timing, self._hours = clock, wall_ms, timing, hours
        self._sources, self._figures = sources, NOTHING
        self._asked: object = None
        """The setting of the source that was asked last."""
        self.view: View | None = None
        """Of the last round; None before the first one has ended."""
        self.summary = LoadSummary(True)
        self.by_broker: Sequence[LoadRow] = ()
        """The rows of all brokers."""
        self._problems, self._group_problems = Problems(), Problems()
        """Of the last round, and of the last time that groups were asked for."""
        self.samples = Samples(Layout())
        self.answers = Answers(self._problems)
        self._policies = Policies(brokers, off_loop, clock, timing.timeout)
        self._appended = Appended(brokers, off_loop, timing.timeout)
        self._groups = Groups(brokers, off_loop, clock, timing.timeout)
        self._answered_ms: dict[int, int] = {}
        self._window_at = self._groups_at = self._read_at = self._clock.now()
        self._began: tuple[float, int] | None = None
        """When the last round has begun, by both clocks."""
        self._hour = hour_of(wall_ms())
        self._rounds = 0

    async def run(self) -> None:
        """Sample until cancelled."""
        while True:
            began = self._clock.now()
            try:
                await self._round()
            # Of what nobody has thought of: it is logged once, and the next round may do better.
            except Exception as error:  # noqa: BLE001
                self._problems.add(f"load is not measured: {error!r}")
                self._problems.log(exc_info=error)
            self.summary = self.summary._replace(
                problems=[*self._problems.lines(), *self._group_problems.lines()]
            )
            spent = self._clock.now() - began
            await self._clock.sleep(max(self._timing.sample - spent, self._timing.sample / 10))

    async def _round(self) -> None:
        self._problems.begin()
        if not self._rounds:
            self.samples = await self._hours.restore(self._wall_ms())
        await self._follow_clocks()
        await self._follow_topics()
        live = sorted(self._state.cluster.live)
        await self._policies.follow(live, self.samples, self._problems)
        gate = asyncio.Semaphore(AT_ONCE)
        # The first round is not spread: the sooner it ends, the sooner the second one tells rates.
        pause = self._timing.sample * SPREAD / max(1, len(live)) if self._rounds else 0.0
        self._rounds += 1

        async def sample(broker: int, delay: float) -> None:
            await self._clock.sleep(delay)
            async with gate:
                await self._sample(broker)

        await side_by_side(sample(broker, at * pause) for at, broker in enumerate(live))
        now = self._clock.now()
        is_due = now - self._groups_at >= self._timing.groups
        # The second time is soon: until then nothing is known of bytes out, and plans by them are refused.
        if is_due or self._rounds <= 2 or self._setting() != self._asked:
            self._groups_at, self._asked = now, self._setting()
            self._group_problems.begin()
            await self._measure_out(live)
            self._group_problems.log()
        if now - self._window_at >= self._timing.window - self._timing.sample / 2:
            await self._off_loop.run(self.samples.close_window, now - self._window_at)
            self._window_at = now
        self.view, self.summary, self.by_broker = await self._off_loop.run(self._look)
        self._problems.log()

    async def _measure_out(self, live: Sequence[int]) -> None:
        """Add what consumers read: as another source tells it, if one is set, else as groups commit it."""
        samples, problems = self.samples, self._group_problems
        read = await self._groups.measure(live, samples, problems)
        brokers = self._state.cluster.brokers
        hosts = {each: brokers[each].host for each in live if each in brokers}
        leaders, wrote = self.answers.leaders, await self._off_loop.run(samples.newest_in)
        known, topics = await self._off_loop.run(known_sums, wrote, leaders, live), leaders.layout.topics
        figures = await self._ask_others(Expected(hosts, known, [each.name for each in topics]))
        if figures is not None:
            read = await self._off_loop.run(split, figures.bytes_out, leaders, read, wrote)
        self._figures = figures or NOTHING
        now = self._clock.now()
        seconds, self._read_at = now - self._read_at, now
        await self._off_loop.run(samples.add_read, read, seconds)

    def _setting(self) -> object:
        """Return the setting of the first source that has one; None if none has."""
        settings = (each.setting for each in self._sources)
        return next((each for each in settings if each is not None), None)

    async def _ask_others(self, expected: Expected) -> Figures | None:
        """Return what the first source tells that is set; None if none is."""
        for source in self._sources:
            figures = await source.measure(expected, self._wall_ms, self._group_problems.add)
            if figures is not None:
                return figures
        return None

    async def _follow_clocks(self) -> None:
        """Forget the present intervals if a clock has jumped; end the hour."""
        now, wall = self._clock.now(), self._wall_ms()
        began, self._began = self._began, (now, wall)
        if began is not None:
            by_clock, by_wall = now - began[0], (wall - began[1]) / 1000
            if abs(by_clock - by_wall) > CLOCK_SLACK:
                self.samples.forget()
                self._groups.forget()
                self._problems.add(
                    f"the clock has jumped by {by_wall - by_clock:.0f} s: load is measured anew from now on"
                )
        if (hour := hour_of(wall)) != self._hour:
            samples, ended = self.samples, hour_of_day(self._hour * 3_600_000)
            self._hour = hour
            await self._off_loop.run(samples.profile.end_hour, ended)
            await self._hours.keep(samples, wall)

    async def _follow_topics(self) -> None:
        """Take the present topics and leaders."""
        cluster = self._state.cluster
        topics: list[Topic] = []
        # An array of a million numbers, made at once of a list, would hold up the loop from any thread.
        leaders: list[npt.NDArray[np.int32]] = [np.zeros(0, np.int32)]
        walked = 0
        for name, partitions in list(cluster.partitions.items()):
            topic = cluster.topics.get(name)
            if topic is None:
                continue
            key = name.encode() if topic.id == NO_ID else topic.id
            topics.append(Topic(name, key, len(partitions)))
            leaders.append(np.fromiter(map(attrgetter("leader"), partitions), np.int32))
            walked += len(partitions)
            if walked > SLICE:
                walked = 0
                await asyncio.sleep(0)
        await self._off_loop.run(self._take, topics, leaders)

    def _take(self, topics: list[Topic], leaders: list[npt.NDArray[np.int32]]) -> None:
        layout = self.samples.layout
        if topics != layout.topics:
            layout = Layout(topics)
            self.samples = self.samples.moved_to(layout)
            self._groups.forget()
        self.answers.update(layout, np.concatenate(leaders))
        gone = self._answered_ms.keys() - self._state.cluster.brokers.keys()
        for broker in gone:
            del self._answered_ms[broker]
        if gone:
            self.answers.forget(gone)

    async def _sample(self, broker: int) -> None:
        """Ask one broker, and add what it tells. What it does not tell is a problem."""
        try:
            await self._ask(broker)
        except (BrokerError, DecodeError) as error:
            self._problems.add(f"bytes in are unknown where it leads: {error}", broker)

    async def _ask(self, broker: int) -> None:
        asked = self._clock.now()
        frame = await self._exchange(broker, ApiKey.DESCRIBE_LOG_DIRS, LOG_DIRS_VERSIONS, log_dirs_request)
        answered = self._clock.now()
        sizes = await self._off_loop.run(self.answers.sizes, broker, frame)
        if isinstance(sizes, Refused):
            self._problems.add(
                refusal("DescribeLogDirs", sizes.code, "Describe on the cluster", "bytes in"), broker
            )
            return
        self._answered_ms[broker] = self._wall_ms()
        led = self.answers.leaders.led(broker)
        if not len(led):
            return
        first, last = [await self._offsets(broker, is_first=each) for each in (True, False)]
        sizes = np.where(self._policies.known(led), sizes, -1)
        answer = Answer(broker, led, sizes, last, first, asked, answered)
        await self._appended.measure(answer, self.samples, self._problems)
        await self._off_loop.run(self.samples.add, answer)

    async def _offsets(self, broker: int, *, is_first: bool) -> Ints:
        """Return the first or the last offset of each row that a broker leads."""
        leaders, found = self.answers.leaders, []
        for chunk in leaders.chunks(broker):
            encode = partial(leaders.body, broker, chunk, is_first)
            frame = await self._exchange(broker, ApiKey.LIST_OFFSETS, OFFSETS_VERSIONS, encode)
            found.append(await self._off_loop.run(self.answers.offsets, broker, chunk, frame))
        return np.concatenate(found)

    async def _exchange(
        self, broker: int, key: ApiKey, versions: range, encode: Callable[[int], bytes]
    ) -> ResponseFrame:
        async def body(version: int) -> bytes:
            return await self._off_loop.run(encode, version)

        return await self._brokers.exchange(broker, key, versions, body, self._timing.timeout)

    def _look(self) -> tuple[View, LoadSummary, Sequence[LoadRow]]:
        samples, wall = self.samples, self._wall_ms()
        bytes_in, estimated = samples.bytes_in()
        view = View(
            samples.layout,
            self.answers.leaders.of,
            dict(self.answers.replicas),
            dict(self._answered_ms),
            bytes_in,
            estimated,
            samples.bytes_out(),
            samples.profile.busy(hour_of_day(wall)),
            samples.profile.mean(),
            wall,
            self._figures.cpu,
        )
        busy = view.busy.hour
        summary = LoadSummary(
            True, (), wall, view.coverage, view.total(), busy, view.hours(), self._figures.matched
        )
        return view, summary, view.brokers()
