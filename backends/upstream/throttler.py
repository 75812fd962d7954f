"""Puts the throttle of the steps in flight on the upstream, and takes it off again (KIP-73; KIP-236: for the duration).

Lists of replicas are changed entry by entry, so that what others have put there stays. A rate that is set already is left
alone: the stock tool's own `--throttle` is not fought. Everything that is set is in the ledger before.
"""

import asyncio
import logging
from collections.abc import Collection, Sequence

from backends.client.asker import BrokerClient
from backends.client.errors import BrokerError
from backends.upstream.applied_throttles import AppliedThrottles
from common.clock import Clock, within
from controller.configs.names import FOLLOWER_REPLICAS, LEADER_REPLICAS, RATES
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigOp
from controller.reassignment.throttle import Throttle, wanted_throttle
from controller.state.state import State
from protocol.errors import ErrorCode
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

log = logging.getLogger(__name__)

DYNAMIC_TOPIC = 1
"""Source of a value that was set on the topic."""
BY_HAND = {2, 3}
"""Sources of a value that was set on the broker itself, or on all (Kafka: DescribeConfigsResponse.ConfigSource)."""
PATIENCE_SECONDS = 2.0
"""How long a step waits for its throttle; a broker that is dead must not hold up the others."""
RETRY_SECONDS = 5.0
CHECK_SECONDS = 10.0
"""Between two looks at whether what we set is still there."""
TOPICS = 500
"""Topics changed in one request, far below the 10,000 records that Kafka takes in one."""

Lists = dict[str, dict[str, list[str]]]
"""Entries of replicas by topic and config."""


class Throttler:
    """One owner of the ledger: `run` makes the upstream what `wanted_throttle` says, whenever `change` was called."""

    def __init__(self, client: BrokerClient, state: State, ledger: AppliedThrottles, clock: Clock) -> None:
        self._client, self._state, self._ledger, self._clock = client, state, ledger, clock
        self._changed, self._settled = asyncio.Event(), asyncio.Event()
        self._writing = asyncio.Lock()
        self._unsure: set[str | int] = {*ledger.topics, *map(int, ledger.brokers)}
        """Topics and brokers of which the ledger may say more than is set."""
        self._gone: set[int] = set()
        """Brokers of the ledger that are none any more, which has been logged."""
        self._unsaved = False
        """The ledger's file is older than the ledger: it could not be written."""
        self._settled.set()
        if not ledger.empty:
            self.change()

    def change(self) -> None:
        """The throttle should be another one."""
        self._settled.clear()
        self._changed.set()

    async def settled(self) -> None:
        """Returns when the throttle is as it can be, or it has taken too long."""
        if not self._settled.is_set() and not await within(self._clock, PATIENCE_SECONDS, self._settled):
            log.warning("steps begin before their throttle is set: the upstream takes too long")

    async def run(self) -> None:
        """For ever; what fails is tried again."""
        while True:
            await self._changed_or_due()
            self._changed.clear()
            fine = await self.apply(wanted_throttle(self._state))
            if not self._changed.is_set():
                self._settled.set()
                if not fine:
                    await within(self._clock, RETRY_SECONDS, self._changed)
                    self._changed.set()

    async def _changed_or_due(self) -> None:
        """What is set is looked at again from time to time: the stock tool's `--cancel` and `--verify` take all of it off."""
        if self._ledger.empty:
            await self._changed.wait()
        elif not await within(self._clock, CHECK_SECONDS, self._changed):
            self._unsure |= {*self._ledger.topics, *map(int, self._ledger.brokers)}

    async def apply(self, wanted: Throttle) -> bool:
        """Bring the upstream there; False when something of it failed."""
        if self._unsaved and not await self._save():
            return False
        names = sorted({*wanted.leaders, *wanted.followers, *self._ledger.topics})
        brokers = sorted({*wanted.brokers, *map(int, self._ledger.brokers)})
        fine = [await self._topics(names[at : at + TOPICS], wanted) for at in range(0, len(names), TOPICS)]
        rates = (self._broker(each, wanted.rate if each in wanted.brokers else None) for each in brokers)
        return all(fine + await asyncio.gather(*rates)) and not self._unsaved

    async def _topics(self, names: Sequence[str], wanted: Throttle) -> bool:
        """One request cannot both add to and take from one list."""
        added, dropped = self._differences(names, wanted)
        added = await self._without_others(added)
        for topic, lists in added.items():
            for config, entries in lists.items():
                ours = self._ledger.topics.setdefault(topic, {}).setdefault(config, [])
                ours += [entry for entry in entries if entry not in ours]
        self._unsure |= added.keys()
        if added and not await self._save():
            return False
        failed = await self._alter_topics(added, ConfigOp.APPEND)
        self._unsure -= added.keys() - failed
        failed |= await self._alter_topics(dropped, ConfigOp.SUBTRACT)
        for topic in dropped.keys() - failed:
            kept = self._ledger.topics[topic]
            for config, entries in dropped[topic].items():
                gone = set(entries)
                kept[config] = [entry for entry in kept[config] if entry not in gone]
            if not any(kept.values()):
                del self._ledger.topics[topic]
        if dropped:
            await self._save()
            await self._tidy([topic for topic in dropped if topic not in self._ledger.topics])
        return not failed

    async def _without_others(self, added: Lists) -> Lists:
        """Entries that are there and not ours were set by someone else: they do their work, and stay when ours go."""
        found = await self._lists_of(added)
        left: Lists = {}
        for topic, lists in added.items():
            for config, entries in lists.items():
                there = set(found.get(topic, {}).get(config, "").split(","))
                ours = set(self._ledger.topics.get(topic, {}).get(config, ()))
                if new := [entry for entry in entries if entry in ours or entry not in there]:
                    left.setdefault(topic, {})[config] = new
        return left

    async def _tidy(self, topics: Collection[str]) -> None:
        """Delete lists that are empty now: what was taken from them was all there was."""
        found = await self._lists_of(topics)
        empty = {
            topic: {c: [""] for c, value in lists.items() if not value} for topic, lists in found.items()
        }
        await self._alter_topics({topic: lists for topic, lists in empty.items() if lists}, ConfigOp.DELETE)

    async def _lists_of(self, topics: Collection[str]) -> dict[str, dict[str, str]]:
        """The lists that are set on topics, by config; none when they cannot be read."""
        keys = [LEADER_REPLICAS, FOLLOWER_REPLICAS]
        resources = [DescribeConfigsResource(ResourceType.TOPIC, topic, keys) for topic in topics]
        try:
            response = await self._client.ask(DescribeConfigsRequest(resources)) if resources else None
        except BrokerError as error:
            log.warning("the throttled replicas of %s cannot be read: %s", _few(topics), error)
            return {}
        return {
            row.resource_name: {
                c.name: c.value or "" for c in row.configs if c.config_source == DYNAMIC_TOPIC
            }
            for row in (response.results if response is not None else ())
        }

    def _differences(self, names: Sequence[str], wanted: Throttle) -> tuple[Lists, Lists]:
        """What is to be added to the lists of replicas, and what to be taken from them."""
        added: Lists = {}
        dropped: Lists = {}
        for topic in names:
            ours = self._ledger.topics.get(topic, {})
            for config, side in ((LEADER_REPLICAS, wanted.leaders), (FOLLOWER_REPLICAS, wanted.followers)):
                entries, have = side.get(topic, ()), set(ours.get(config, ()))
                sure = set() if topic in self._unsure else have
                if new := [each for each in entries if each not in sure]:
                    added.setdefault(topic, {})[config] = new
                if old := sorted(have - set(entries)):
                    dropped.setdefault(topic, {})[config] = old
        return added, dropped

    async def _broker(self, broker: int, rate: int | None) -> bool:
        """Set our rates, or take them off; one that someone else has set, or changed since, stays."""
        name = str(broker)
        ours = self._ledger.brokers.get(name, {})
        wanted = None if rate is None else str(rate)
        if broker not in self._unsure and all(ours.get(config) == [wanted] for config in RATES):
            return True
        if broker not in self._state.live:
            return not self._comes_back(broker)
        self._gone.discard(broker)
        found = await self._set_by_hand(broker)
        if found is None:
            return False
        mine = [config for config in RATES if found.get(config) in {None, *ours.get(config, ())}]
        rows: list[tuple[str, ConfigOp, str | None]]
        if wanted is None:
            rows = [(config, ConfigOp.DELETE, None) for config in mine if config in found]
            after: dict[str, list[str]] = {}
        else:
            rows = [(config, ConfigOp.SET, wanted) for config in mine if found.get(config) != wanted]
            after = {config: [wanted] for config in mine}
            before = {config: [*ours.get(config, ()), wanted] for config, _, _ in rows}
            if before:
                self._ledger.brokers[name] = {**ours, **before}
                self._unsure.add(broker)
                if not await self._save():
                    return False
        self._unsure.add(broker)
        if rows and not await self._alter_broker(broker, rows):
            return False
        self._unsure.discard(broker)
        await self._settle_broker(name, after)
        return True

    def _comes_back(self, broker: int) -> bool:
        """Whether it is worth trying again soon: the broker is down, but one of the cluster's."""
        if broker in self._state.brokers:
            return True
        if broker not in self._gone:
            self._gone.add(broker)
            log.warning(
                "the throttle of broker %d stays as it is: the cluster does not list it. It is taken off if that broker "
                "comes back",
                broker,
            )
        return False

    async def _settle_broker(self, name: str, ours: dict[str, list[str]]) -> None:
        if ours != self._ledger.brokers.get(name, {}):
            self._ledger.brokers[name] = ours
            if not ours:
                del self._ledger.brokers[name]
            await self._save()

    async def _set_by_hand(self, broker: int) -> dict[str, str] | None:
        """The rates that are set; None when it does not say."""
        resource = DescribeConfigsResource(ResourceType.BROKER, str(broker), list(RATES))
        try:
            response = await self._client.ask(DescribeConfigsRequest([resource]), broker)
        except BrokerError as error:
            log.warning("the throttle of broker %d cannot be read: %s", broker, error)
            return None
        (result,) = response.results
        if result.error_code != ErrorCode.NONE:
            log.warning("the throttle of broker %d cannot be read: %s", broker, result.error_message)
            return None
        return {c.name: c.value or "" for c in result.configs if c.config_source in BY_HAND}

    async def _alter_topics(self, lists: Lists, op: ConfigOp) -> set[str]:
        """Those that failed."""
        resources = [
            AlterConfigsResource(
                ResourceType.TOPIC,
                topic,
                [AlterableConfig(config, op.value, ",".join(entries)) for config, entries in configs.items()],
            )
            for topic, configs in lists.items()
        ]
        return await self._alter(resources) if resources else set()

    async def _alter_broker(self, broker: int, rows: Sequence[tuple[str, ConfigOp, str | None]]) -> bool:
        configs = [AlterableConfig(config, op.value, value) for config, op, value in rows]
        return not await self._alter(
            [AlterConfigsResource(ResourceType.BROKER, str(broker), configs)], broker
        )

    async def _alter(self, resources: Sequence[AlterConfigsResource], broker: int | None = None) -> set[str]:
        """The names of those that failed."""
        names = {resource.resource_name for resource in resources}
        try:
            response = await self._client.ask(IncrementalAlterConfigsRequest(resources), broker)
        except BrokerError as error:
            log.warning("the throttle of %s cannot be set: %s", _few(names), error)
            return names
        # A topic that is gone has no throttle that could stay behind; a list that is `*` takes, and needs, no more.
        fine = {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_CONFIG}
        for result in response.responses:
            if result.error_code in fine:
                names.discard(result.resource_name)
            else:
                log.warning(
                    "the throttle of %s cannot be set: %s", result.resource_name, result.error_message
                )
        return names

    async def _save(self) -> bool:
        """Whether the ledger is durable. Without it nothing is set: after a crash nobody would take it off."""
        async with self._writing:
            try:
                await asyncio.to_thread(self._ledger.write, self._ledger.text())
            except OSError as error:
                if not self._unsaved:
                    self._unsaved = True
                    log.warning("what is throttled cannot be written down, it is tried again: %s", error)
                return False
            if self._unsaved:
                self._unsaved = False
                log.info("what is throttled is written down again")
            return True


def _few(names: Collection[str]) -> str:
    return ", ".join(sorted(names)[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
