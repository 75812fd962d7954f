"""Reads the throttles that others have set at the brokers (KIP-73), while something moves."""

import asyncio
import logging
from collections.abc import Mapping

from backends.client.channel import BrokerClient
from backends.client.errors import BrokerError
from backends.upstream.throttle_configs import SET
from common.clock import Clock
from common.error_codes import ErrorCode
from common.wording import some
from controller.gateway.events import BrokerRatesSeen
from controller.model.configs import RATES, ResourceType
from controller.ports import SubmitEvent
from controller.state.state import State
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource

log = logging.getLogger(__name__)

CHECK_SECONDS = 1.0
"""Pause between two checks whether something moves. They ask no broker."""
SELDOM_SECONDS = 60.0
"""Age after which the rates are read again while something moves."""
OFTEN_SECONDS = 10.0
"""Age after which they are read again for a new job."""
ENDED_SECONDS = 10.0
"""After this time without a move the rates are forgotten, and the next move reads them at once."""
NAMED = 3
"""Brokers that a log line names."""


class BrokerRates:
    """Submits the rates at the brokers, without those that reassignd has set."""

    def __init__(self, client: BrokerClient, state: State, submit: SubmitEvent, clock: Clock) -> None:
        self._client, self._state, self._submit, self._clock = client, state, submit, clock
        self._moved_at = self._read_at = float("-inf")
        self._newest_job = 0
        """The newest open job at the last read."""
        self._unread: set[int] = set()
        """Brokers that could not be asked; each was logged once."""

    async def run(self) -> None:
        """Read the rates when they are due. Runs until it is cancelled."""
        while True:
            await self.read()
            await self._clock.sleep(CHECK_SECONDS)

    async def read(self) -> None:
        """Read the rates if something moves and they are unknown, old or of before the newest job.

        If nothing has moved for a while, forget them.
        """
        state, now = self._state, self._clock.now()
        if state.in_flight or state.gateway.external:
            self._moved_at = now
        if now - self._moved_at > ENDED_SECONDS:
            self._read_at = float("-inf")
            await self._show({})
            return
        job = max(state.orders.open, default=self._newest_job)
        if now - self._read_at >= (OFTEN_SECONDS if job > self._newest_job else SELDOM_SECONDS):
            self._read_at, self._newest_job = now, job
            await self._show(await self._ask())

    async def _show(self, rates: Mapping[int, Mapping[str, str]]) -> None:
        if rates or self._state.gateway.others_rates:
            await self._submit(BrokerRatesSeen(rates))

    async def _ask(self) -> dict[int, dict[str, str]]:
        """Return the rates by broker and config, without brokers that have none or cannot be asked."""
        # A lease can end while the brokers answer: what it owned was not set by others.
        owned = {key: set(lease.owned) for key, lease in self._state.throttle.leases.items()}
        live = sorted(self._state.cluster.live)
        answers = await asyncio.gather(*map(self._ask_broker, live))
        failures = {broker: why for broker, why in zip(live, answers, strict=True) if isinstance(why, str)}
        self._log(failures)
        rates = {}
        for broker, answer in zip(live, answers, strict=True):
            values = {} if isinstance(answer, str) else answer
            others = {
                config: value
                for config, value in values.items()
                if value not in owned.get((ResourceType.BROKER, str(broker), config), ())
            }
            if others:
                rates[broker] = others
        return rates

    async def _ask_broker(self, broker: int) -> dict[str, str] | str:
        """Return the rates that are set at the broker by config, or why it does not tell."""
        resource = DescribeConfigsResource(ResourceType.BROKER, str(broker), RATES)
        try:
            response = await self._client.ask(DescribeConfigsRequest([resource]), broker)
        except BrokerError as error:
            return str(error)
        for row in response.results:
            if row.error_code != ErrorCode.NONE:
                return row.error_message or f"error {row.error_code}"
        return {
            config.name: config.value
            for row in response.results
            for config in row.configs
            if config.value is not None and config.config_source in SET[ResourceType.BROKER]
        }

    def _log(self, failures: Mapping[int, str]) -> None:
        """Log brokers that could not be asked, until they can be."""
        new = sorted(failures.keys() - self._unread)
        self._unread = set(failures)
        if new:
            named = some([str(broker) for broker in new], NAMED)
            log.info("throttles of others cannot be read at brokers %s: %s", named, failures[new[0]])
