"""Puts the throttle of the steps in flight on the upstream, and takes it off again (KIP-73; KIP-236: for the duration).

Lists of replicas are changed entry by entry, so that what others have put there stays. A rate that is set already is left
alone: the stock tool's own `--throttle` is not fought. Everything that is set is in the ledger before.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence

from backends.clock import Clock
from backends.upstream.errors import UpstreamError
from backends.upstream.ledger import Ledger
from backends.upstream.ports import Asker
from controller.events import ConfigOp
from controller.model import ResourceType
from controller.state import State
from controller.throttle import FOLLOWER_REPLICAS, LEADER_REPLICAS, RATES, Throttle, wanted_throttle
from protocol.errors import ErrorCode
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

log = logging.getLogger(__name__)

DYNAMIC_BROKER = 2
"""Source of a value that was set on the broker itself (Kafka: DescribeConfigsResponse.ConfigSource)."""
PATIENCE_SECONDS = 2.0
"""How long a step waits for its throttle; a broker that is dead must not hold up the others."""
RETRY_SECONDS = 5.0


class Throttler:
    """One owner of the ledger: `run` makes the upstream what `wanted_throttle` says, whenever `change` was called."""

    def __init__(self, client: Asker, state: State, ledger: Ledger, clock: Clock) -> None:
        self._client, self._state, self._ledger, self._clock = client, state, ledger, clock
        self._changed, self._settled = asyncio.Event(), asyncio.Event()
        self._settled.set()
        if not ledger.empty:
            self.change()

    def change(self) -> None:
        """The throttle should be another one."""
        self._settled.clear()
        self._changed.set()

    async def settled(self) -> None:
        """Returns when the throttle is as it should be, or it has taken too long."""
        if not self._settled.is_set():
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await self._settled.wait()
            except TimeoutError:
                log.warning("steps begin before their throttle is set: the upstream takes too long")

    async def run(self) -> None:
        """For ever; what fails is tried again."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            if await self.apply(wanted_throttle(self._state)):
                if not self._changed.is_set():
                    self._settled.set()
            else:
                await self._clock.sleep(RETRY_SECONDS)
                self._changed.set()

    async def apply(self, wanted: Throttle) -> bool:
        """Bring the upstream there; False when something of it failed."""
        fine = True
        names = {*wanted.leaders, *wanted.followers, *self._ledger.topics}
        for topic in sorted(names):
            lists = {
                LEADER_REPLICAS: wanted.leaders.get(topic, ()),
                FOLLOWER_REPLICAS: wanted.followers.get(topic, ()),
            }
            fine &= await self._topic(topic, lists)
        for broker in sorted({*wanted.brokers, *map(int, self._ledger.brokers)}):
            fine &= await self._broker(broker, wanted.rate if broker in wanted.brokers else None)
        return fine

    async def _topic(self, topic: str, wanted: Mapping[str, Iterable[str]]) -> bool:
        ours = self._ledger.topics.get(topic, {})
        changes = []
        for config, entries in wanted.items():
            have = ours.get(config, [])
            new, old = [e for e in entries if e not in have], [e for e in have if e not in set(entries)]
            changes += [(config, ConfigOp.APPEND, new)] * bool(new) + [
                (config, ConfigOp.SUBTRACT, old)
            ] * bool(old)
        if not changes:
            return True
        added = [each for each in changes if each[1] is ConfigOp.APPEND]
        for config, _, entries in added:
            self._ledger.topics.setdefault(topic, {}).setdefault(config, []).extend(entries)
        if added:
            await self._save()
        # One request cannot both add to and take from one list.
        for op in (ConfigOp.APPEND, ConfigOp.SUBTRACT):
            rows = [(config, op, ",".join(entries)) for config, how, entries in changes if how is op]
            if rows and not await self._alter(ResourceType.TOPIC, topic, rows):
                return False
        for config, op, entries in changes:
            if op is ConfigOp.SUBTRACT:
                self._ledger.topics[topic][config] = [
                    e for e in self._ledger.topics[topic][config] if e not in entries
                ]
        if not any(self._ledger.topics.get(topic, {}).values()):
            self._ledger.topics.pop(topic, None)
        await self._save()
        return True

    async def _broker(self, broker: int, rate: int | None) -> bool:
        name = str(broker)
        ours = self._ledger.brokers.get(name, {})
        if rate is None:
            return not ours or await self._give_back(broker, ours)
        wanted = str(rate)
        if all(ours.get(config) == wanted for config in RATES):
            return True
        found = await self._set_by_hand(broker)
        if found is None:
            return False
        rows = [
            (config, ConfigOp.SET, wanted)
            for config in RATES
            if found.get(config) in {None, ours.get(config)} and ours.get(config) != wanted
        ]
        if not rows:
            return True
        self._ledger.brokers.setdefault(name, {}).update({config: wanted for config, _, _ in rows})
        await self._save()
        return await self._alter(ResourceType.BROKER, name, rows, broker)

    async def _give_back(self, broker: int, ours: dict[str, str]) -> bool:
        """Take our rates off, but one that someone has changed since."""
        found = await self._set_by_hand(broker)
        if found is None:
            return False
        rows = [
            (config, ConfigOp.DELETE, None) for config, value in ours.items() if found.get(config) == value
        ]
        if rows and not await self._alter(ResourceType.BROKER, str(broker), rows, broker):
            return False
        self._ledger.brokers.pop(str(broker), None)
        await self._save()
        return True

    async def _set_by_hand(self, broker: int) -> dict[str, str] | None:
        """The rates that are set on the broker itself; None when it does not say."""
        resource = DescribeConfigsResource(ResourceType.BROKER, str(broker), list(RATES))
        try:
            response = await self._client.ask(DescribeConfigsRequest([resource]), broker)
        except UpstreamError as error:
            log.warning("the throttle of broker %d cannot be read: %s", broker, error)
            return None
        (result,) = response.results
        if result.error_code != ErrorCode.NONE:
            log.warning("the throttle of broker %d cannot be read: %s", broker, result.error_message)
            return None
        return {c.name: c.value or "" for c in result.configs if c.config_source == DYNAMIC_BROKER}

    async def _alter(
        self,
        kind: ResourceType,
        name: str,
        rows: Sequence[tuple[str, ConfigOp, str | None]],
        broker: int | None = None,
    ) -> bool:
        configs = [AlterableConfig(config, op.value, value) for config, op, value in rows]
        request = IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, configs)])
        try:
            response = await self._client.ask(request, broker)
        except UpstreamError as error:
            log.warning("the throttle of %s %s cannot be set: %s", kind.name.lower(), name, error)
            return False
        (result,) = response.responses
        # A topic that is gone has no throttle that could stay behind.
        if result.error_code in {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}:
            return True
        log.warning("the throttle of %s %s cannot be set: %s", kind.name.lower(), name, result.error_message)
        return False

    async def _save(self) -> None:
        await asyncio.to_thread(self._ledger.save)
