"""The upstream backend (`--backend upstream`): sends effects to a running Kafka, and polls it.

The upstream carries out the reassignments (KIP-455). Steps (KIP-435) and cancellation (KIP-236) are the
controller's.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import assert_never

from backends.client.errors import AuthenticationError, BrokerError
from backends.disk_moves.mover import ClientOfBrokers, DiskMover
from backends.measuring.canary import Canary, CanaryClient, at_upstream
from backends.measuring.flows import FlowMeter
from backends.measuring.pace import PaceMeasurer
from backends.measuring.sizes import ReplicaSizes, StallWatch
from backends.upstream.broker_rates import BrokerRates
from backends.upstream.client import UpstreamPort
from backends.upstream.outcomes import UpstreamCounters
from backends.upstream.poller import PollIntervals, UpstreamPoller
from backends.upstream.submitter import RowSubmitter
from backends.upstream.throttle_configs import ThrottleConfigs
from backends.upstream.topic_configs import TopicConfigs
from common.backoff import RETRY_LATER_SECONDS
from common.clock import Clock, RealClock, wall_clock
from common.tasks import cancel, spawn
from controller.gateway.events import Unreachable
from controller.messages.effects import (
    AlterThrottle,
    ConfigsChanged,
    Elect,
    ReadThrottle,
    Submit,
    UpstreamEffect,
)
from controller.ports import SubmitEvent
from controller.state.state import State

log = logging.getLogger(__name__)

OnBrokers = Callable[[Mapping[int, tuple[str, int]]], Awaitable[None]]
"""Callback with the host and port of each broker, by id."""


async def ignore_brokers(_: Mapping[int, tuple[str, int]]) -> None:
    """Default callback: does nothing."""


class UpstreamBackend:
    """Implements `controller.ports.Backend`. `submit` passes events to the controller.

    `on_brokers` is called with the brokers' addresses before the controller gets them. `on_failure` is called
    once, with the first unexpected error of a task.
    """

    def __init__(
        self,
        client: UpstreamPort,
        state: State,
        submit: SubmitEvent,
        *,
        on_brokers: OnBrokers = ignore_brokers,
        on_failure: Callable[[BaseException], None],
        clock: Clock | None = None,
        intervals: PollIntervals | None = None,
        counters: UpstreamCounters | None = None,
    ) -> None:
        self._client, self._state = client, state
        self._submit, self._on_failure = submit, on_failure
        self._clock = clock or RealClock()
        self._throttle_configs = ThrottleConfigs(client, state, submit, self._clock)
        self.counters = counters or UpstreamCounters()
        """Polls and rows. Failed requests too, if the client has the same counters."""
        self._submitter = RowSubmitter(client, submit, self._throttle_configs.settled, self.counters)
        self._poller = UpstreamPoller(
            client, state, self._submitter, submit, on_brokers, self._clock, intervals, self.counters
        )
        self.sizes = ReplicaSizes(client, state, submit, self._clock)
        self._topic_configs = TopicConfigs(client, state, submit, self._clock)
        self._broker_rates = BrokerRates(client, state, submit, self._clock)
        self._stalls = StallWatch(state, self.sizes.received)
        self._disks = DiskMover(
            ClientOfBrokers(client), state, submit, self._clock, self._throttle_configs.settled
        )
        self._pace: PaceMeasurer | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._failed = self._stopped = False

    def measure_pace(self, client: CanaryClient) -> None:
        """Measure latencies with this client while pace is on. To be called before `start`."""
        canary = Canary(client, self._state, at_upstream(self._client), self._clock, wall_clock)
        flows = FlowMeter(self._state, self.sizes)
        self._pace = PaceMeasurer(canary, flows, self._state, self._submit, self._clock)

    def perform(self, effects: Sequence[UpstreamEffect]) -> None:
        """See `Backend.perform`."""
        for effect in effects:
            match effect:
                case Submit() | Elect():
                    self._submitter.add(effect)
                case ReadThrottle() | AlterThrottle():
                    self._throttle_configs.perform(effect)
                case ConfigsChanged():
                    pass  # The state has the new configs; they need no action but the poll below.
                case _:
                    assert_never(effect)
        if effects:
            self._poller.poll_soon()

    async def start(self, on_wait: Callable[[str], None] = lambda _: None) -> None:
        """Poll until the upstream answers, measure the replicas, and start the tasks.

        Raises AuthenticationError.

        `on_wait` is called with a message when the upstream cannot be reached, once for each different error.
        """
        reported = ""
        while True:
            try:
                await self._poller.poll()
                break
            except AuthenticationError:
                raise
            except BrokerError as error:
                self.counters.failed_polls += 1
                if str(error) != reported:
                    reported = str(error)
                    on_wait(f"waiting for the upstream: {reported}")
                await self._submit(Unreachable(reported))
                await self._clock.sleep(RETRY_LATER_SECONDS)
        # Sizes are measured before the first step starts: the limit on bytes and the disk guard depend on
        # them.
        await self.sizes.measure()
        work = {
            "upstream-rows": self._submitter.run(),
            "upstream-polls": self._poller.run(),
            "upstream-throttle": self._throttle_configs.run(),
            "upstream-broker-rates": self._broker_rates.run(),
            "upstream-sizes": self.sizes.run(),
            "upstream-configs": self._topic_configs.run(),
            "upstream-disk-moves": self._disks.run(),
            "upstream-stalls": self._stalls.run(self._clock, self._submit),
        }
        if self._pace is not None:
            work["pace"] = self._pace.run()
        self._tasks = [spawn(coroutine, name, self._fail) for name, coroutine in work.items()]

    async def refresh_topics(self, topics: Iterable[str]) -> None:
        """Submit the present state of these topics and their sizes.

        On failure the controller uses the last known state.
        """
        names = sorted(set(topics))
        try:
            await self._poller.poll_topics(names)
        except BrokerError as error:
            if not self._stopped:
                log.warning("topics cannot be polled, a request uses their last known state: %s", error)
        await self.sizes.learn(names)

    async def look(self) -> None:
        """Submit everything that the upstream shows at this moment, see `UpstreamPoller.look`.

        Raises BrokerError.
        """
        await self._poller.look()

    async def stop(self) -> None:
        """Stop the tasks and close the connections. Reassignments in flight continue in the upstream."""
        self._stopped = True
        await cancel(*self._tasks)
        await self._client.close()

    def _fail(self, error: BaseException) -> None:
        if not self._failed:
            self._failed = True
            self._on_failure(error)
