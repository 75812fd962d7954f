"""The backend before a running Kafka: what is decided goes there, what is seen there comes back (`--backend upstream`).

KIP-455 carried out by another Kafka, with KIP-435's steps and KIP-236's way back on top of it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import assert_never

from backends.client.errors import AuthenticationError, BrokerError
from backends.measuring.sizes import ReplicaSizes
from backends.measuring.stalls import StallWatch
from backends.upstream.poller import PollIntervals, UpstreamPoller
from backends.upstream.ports import UpstreamPort
from backends.upstream.submitter import Submitter
from backends.upstream.throttle_configs import ThrottleConfigs
from backends.upstream.topic_configs import TopicConfigs
from common.clock import Clock, RealClock
from common.tasks import cancel, spawn
from controller.messages.effects import (
    AlterThrottle,
    ConfigsChanged,
    Elect,
    ReadThrottle,
    Submit,
    UpstreamEffect,
)
from controller.messages.upstream_events import Unreachable
from controller.ports import SubmitEvent
from controller.state.state import State

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0


OnBrokers = Callable[[Mapping[int, tuple[str, int]]], Awaitable[None]]
"""Host and port, by broker."""


async def _nobody(_: Mapping[int, tuple[str, int]]) -> None:
    """Told in vain."""


class UpstreamBackend:
    """Implements `controller.ports.Backend`. `submit` gives events to the core.

    `on_brokers` is told where the brokers are before the core is, `on_failure` once of an error that nobody foresaw.
    """

    def __init__(
        self,
        client: UpstreamPort,
        state: State,
        submit: SubmitEvent,
        *,
        on_brokers: OnBrokers = _nobody,
        on_failure: Callable[[BaseException], None],
        clock: Clock | None = None,
        pace: PollIntervals | None = None,
    ) -> None:
        self._client, self._submit, self._on_failure = client, submit, on_failure
        self._clock = clock or RealClock()
        self._throttle_configs = ThrottleConfigs(client, state, submit, self._clock)
        self._submitter = Submitter(client, submit, self._throttle_configs.settled)
        self._looks = UpstreamPoller(client, state, self._submitter, submit, on_brokers, self._clock, pace)
        self.sizes = ReplicaSizes(client, state, submit, self._clock)
        self._topic_configs = TopicConfigs(client, state, submit, self._clock)
        self._stalls = StallWatch(state, self.sizes.received)
        self._tasks: list[asyncio.Task[None]] = []
        self._failed = False

    def perform(self, effects: Sequence[UpstreamEffect]) -> None:
        """See `Backend.perform`."""
        for effect in effects:
            match effect:
                case Submit() | Elect():
                    self._submitter.add(effect)
                case ReadThrottle() | AlterThrottle():
                    self._throttle_configs.perform(effect)
                case ConfigsChanged():
                    pass  # The state has the configs, and the poll below is all that follows from them.
                case _:
                    assert_never(effect)
        if effects:
            self._looks.hurry()

    async def start(self, waits: Callable[[str], None] = lambda _: None) -> None:
        """Take in the upstream; waits until it can be reached. Raises AuthenticationError when it never will be."""
        said = ""
        while True:
            try:
                await self._looks.look()
                break
            except AuthenticationError:
                raise
            except BrokerError as error:
                if str(error) != said:
                    said = str(error)
                    waits(f"waiting for the upstream: {said}")
                await self._submit(Unreachable(said))
                await self._clock.sleep(RETRY_SECONDS)
        # Before anything starts: the limit on bytes and the disk guard go by sizes.
        await self.sizes.measure()
        work = {
            "upstream-rows": self._submitter.run(),
            "upstream-looks": self._looks.run(),
            "upstream-throttle": self._throttle_configs.run(),
            "upstream-sizes": self.sizes.run(),
            "upstream-configs": self._topic_configs.run(),
            "upstream-stalls": self._stalls.run(self._clock, self._submit),
        }
        self._tasks = [spawn(each, name, self._fail) for name, each in work.items()]

    async def look_at(self, topics: Iterable[str]) -> None:
        """Have the core know these topics and their sizes as they are now; when they cannot be seen, what it knows must do."""
        names = sorted(set(topics))
        try:
            await self._looks.look_at(names)
        except BrokerError as error:
            log.warning("an order goes by what was seen last: %s", error)
        await self.sizes.learn(names)

    async def stop(self) -> None:
        """Stop; what is under way upstream goes on."""
        await cancel(*self._tasks)
        await self._client.close()

    def _fail(self, error: BaseException) -> None:
        if not self._failed:
            self._failed = True
            self._on_failure(error)
