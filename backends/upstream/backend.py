"""The backend before a running Kafka: what is decided goes there, what is seen there comes back (`--backend upstream`).

KIP-455 carried out by another Kafka, with KIP-435's steps and KIP-236's way back on top of it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from backends.clock import Clock, RealClock
from backends.stalls import StallWatch
from backends.tasks import cancel, spawn
from backends.upstream.errors import AuthenticationError, UpstreamError
from backends.upstream.ledger import Ledger
from backends.upstream.looks import Looks, Pace
from backends.upstream.ports import Client
from backends.upstream.sizes import Sizes
from backends.upstream.submitter import Submitter
from backends.upstream.throttler import Throttler
from backends.upstream.topic_configs import TopicConfigs
from controller.effects import ConfigsChanged, Effect, Elect, Rethrottle, Submit
from controller.events import Event, Stalled
from controller.state import State
from controller.upstream_events import Unreachable

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
STALL_LOOK_SECONDS = 1.0


class Upstream:
    """Implements `controller.port.Backend`. `submit` gives events to the core.

    `on_failure` is called once, when something went wrong that nobody here knows how to live with.
    """

    def __init__(
        self,
        client: Client,
        state: State,
        submit: Callable[[Event], Awaitable[Any]],
        ledger: Ledger,
        *,
        on_failure: Callable[[BaseException], None],
        clock: Clock | None = None,
        pace: Pace | None = None,
    ) -> None:
        self._client, self._submit, self._on_failure = client, submit, on_failure
        self._clock = clock or RealClock()
        self._throttler = Throttler(client, state, ledger, self._clock)
        self._submitter = Submitter(client, submit, self._throttler.settled)
        self._looks = Looks(client, state, self._submitter, submit, self._clock, pace)
        self.sizes = Sizes(client, state, submit, self._clock)
        self._topic_configs = TopicConfigs(client, state, submit, self._clock)
        self._stalls = StallWatch(state, self.sizes.received)
        self._tasks: list[asyncio.Task[None]] = []
        self._failed = False

    def perform(self, effects: Sequence[Effect]) -> None:
        """See `Backend.perform`."""
        for effect in effects:
            if isinstance(effect, Submit | Elect):
                self._submitter.add(effect)
            elif isinstance(effect, Rethrottle):
                self._throttler.change()
            elif not isinstance(effect, ConfigsChanged):
                raise AssertionError(f"an upstream has no use for {effect}")
        if effects:
            self._looks.hurry()

    async def start(self) -> None:
        """Take in the upstream; waits until it can be reached. Raises AuthenticationError when it never will be."""
        said = ""
        while True:
            try:
                await self._looks.look()
                break
            except AuthenticationError:
                raise
            except UpstreamError as error:
                if str(error) != said:
                    said = str(error)
                    log.warning("waiting for the upstream: %s", said)
                await self._submit(Unreachable(said))
                await self._clock.sleep(RETRY_SECONDS)
        self._tasks = [
            self._spawn(self._submitter.run(), "upstream-rows"),
            self._spawn(self._looks.run(), "upstream-looks"),
            self._spawn(self._throttler.run(), "upstream-throttle"),
            self._spawn(self.sizes.run(), "upstream-sizes"),
            self._spawn(self._topic_configs.run(), "upstream-configs"),
            self._spawn(self._watch_for_stalls(), "upstream-stalls"),
        ]

    async def stop(self) -> None:
        """Stop; what is under way upstream goes on."""
        await cancel(*self._tasks)
        await self._client.close()

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = spawn(work, name)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None and not self._failed:
            self._failed = True
            self._on_failure(error)

    async def _watch_for_stalls(self) -> None:
        while True:
            await self._clock.sleep(STALL_LOOK_SECONDS)
            keys = self._stalls.look(self._clock.now())
            if keys:
                await self._submit(Stalled(keys))
