"""Reads and alters the throttle configs of an upstream (KIP-73), as the core decides (`controller.throttle.delegated`)."""

import asyncio
import logging
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import islice
from typing import Any

from backends.client.asker import BrokerClient
from backends.client.errors import BrokerError
from common.clock import Clock, within
from common.error_codes import ErrorCode
from controller.configs.names import RATES, THROTTLED_REPLICAS
from controller.messages.effects import AlterThrottle, ReadThrottle
from controller.messages.upstream_events import ThrottleRead
from controller.model.configs import ConfigChange, ConfigOp, ConfigSource, Resource, ResourceType
from controller.ports import SubmitEvent
from controller.state.state import State
from controller.throttle.delegated import throttles_to_read
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_configs_response import DescribeConfigsResponse
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

log = logging.getLogger(__name__)

CONFIGS = {ResourceType.TOPIC: THROTTLED_REPLICAS, ResourceType.BROKER: RATES}
SET = {
    ResourceType.TOPIC: {ConfigSource.DYNAMIC_TOPIC},
    ResourceType.BROKER: {ConfigSource.DYNAMIC_BROKER, ConfigSource.DYNAMIC_DEFAULT_BROKER},
}
"""The sources of values that someone has set."""
PATIENCE_SECONDS = 2.0
"""How long a step waits for its throttle. A broker that is down must not hold up the others."""
READ_BACK_SECONDS = 0.2
"""Pause before values that were altered are read. It doubles while they are not as altered: metadata takes its time."""
RETRY_SECONDS = 5.0
"""Pause after something could not be read or altered."""
CHECK_SECONDS = 10.0
"""Pause between two reads of all that is set. The stock tool's `--cancel` and `--verify` remove every throttle."""
TOPICS = 500
"""Topics in one request, far below the 10,000 records that Kafka takes in one."""

Changes = Mapping[Resource, Sequence[ConfigChange]]


class Progress(Enum):
    """The result of reading and altering once."""

    DONE = "nothing had to change"
    ALTERED = "changes were acknowledged, and are to be read back"
    FAILED = "something could not be read or altered"


class ThrottleConfigs:
    """Carries out `ReadThrottle` and `AlterThrottle`. `submit` gives events to the core."""

    def __init__(self, client: BrokerClient, state: State, submit: SubmitEvent, clock: Clock) -> None:
        self._client, self._state, self._submit, self._clock = client, state, submit, clock
        self._changed, self._settled = asyncio.Event(), asyncio.Event()
        self._alterations: deque[Changes] = deque()
        self._acknowledged: dict[Resource, Sequence[ConfigChange]] = {}
        """Changes that were made since the resource was read last."""
        self._unlisted: set[int] = set()
        """Brokers with a lease that the cluster does not list; each was logged once."""
        self._settled.set()
        if state.leases:
            self.perform(ReadThrottle())

    def perform(self, effect: ReadThrottle | AlterThrottle) -> None:
        """See `controller.ports.Backend.perform`."""
        if isinstance(effect, AlterThrottle):
            self._alterations.append(effect.changes)
        else:
            self._settled.clear()
            self._changed.set()

    async def settled(self) -> None:
        """Return when the throttle is set as far as possible, or after PATIENCE_SECONDS."""
        if not self._settled.is_set() and not await within(self._clock, PATIENCE_SECONDS, self._settled):
            log.warning("steps begin before their throttle is set: the upstream takes too long")

    async def run(self) -> None:
        """Read and alter whenever the core asks for it, again after failures, and every CHECK_SECONDS."""
        await self._changed.wait()
        every, read_back = False, READ_BACK_SECONDS
        while True:
            self._changed.clear()
            progress = await self.reconcile(every=every)
            if not self._changed.is_set():
                self._settled.set()
            pause = {Progress.DONE: CHECK_SECONDS, Progress.ALTERED: read_back}.get(progress, RETRY_SECONDS)
            changed = await self._changed_within(pause)
            every = progress is Progress.DONE and not changed
            again = progress is Progress.ALTERED and not changed
            read_back = min(2 * read_back, CHECK_SECONDS) if again else READ_BACK_SECONDS

    async def _changed_within(self, seconds: float) -> bool:
        """Wait for a change; for no longer than `seconds` while there is a throttle to look after."""
        if self._state.leases or self._state.confirmed_throttles:
            return await within(self._clock, seconds, self._changed)
        return await self._changed.wait()

    async def reconcile(self, *, every: bool = False) -> Progress:
        """Read what may have to change, or all with `every`; report it, and make the changes that are decided on it."""
        values, complete = await self._read(throttles_to_read(self._state, every=every))
        if values:
            made = {each: self._acknowledged.pop(each) for each in values if each in self._acknowledged}
            # The effects of the decision have been given to `perform` when `submit` returns.
            await self._submit(ThrottleRead(values, made))
        acknowledged = False
        while self._alterations:
            changes = self._alterations.popleft()
            failed = await self._alter(changes)
            succeeded = {each: made for each, made in changes.items() if each not in failed}
            self._acknowledged |= succeeded
            acknowledged |= bool(succeeded)
            complete &= not failed
        if acknowledged:
            return Progress.ALTERED
        return Progress.DONE if complete else Progress.FAILED

    async def _read(self, resources: Sequence[Resource]) -> tuple[dict[Resource, dict[str, str]], bool]:
        """The values that are set, by resource, and whether all could be read."""
        topics = [name for kind, name in resources if kind is ResourceType.TOPIC]
        brokers = [int(name) for kind, name in resources if kind is ResourceType.BROKER]
        live = [broker for broker in brokers if broker in self._state.live]
        answers = await asyncio.gather(
            *(self._describe(ResourceType.TOPIC, chunk) for chunk in _chunks(topics)),
            *(self._describe(ResourceType.BROKER, [str(broker)], broker) for broker in live),
        )
        values = {resource: configs for answer in answers for resource, configs in answer.items()}
        down = [broker for broker in brokers if broker not in self._state.live]
        self._note_unlisted(down)
        listed_down = any(broker in self._state.brokers for broker in down)
        return values, not listed_down and len(values) == len(topics) + len(live)

    def _note_unlisted(self, down: Iterable[int]) -> None:
        """Log the brokers that are not retried before the cluster lists them again."""
        unlisted = {broker for broker in down if broker not in self._state.brokers}
        for broker in sorted(unlisted - self._unlisted):
            log.warning(
                "the throttle of broker %d stays as it is: the cluster does not list it. It is taken off if that broker "
                "comes back",
                broker,
            )
        self._unlisted = unlisted

    async def _describe(
        self, kind: ResourceType, names: Sequence[str], broker: int | None = None
    ) -> dict[Resource, dict[str, str]]:
        """The throttle configs that are set on the resources; those that cannot be read are left out."""
        asked = [DescribeConfigsResource(kind, name, CONFIGS[kind]) for name in names]
        try:
            response: DescribeConfigsResponse = await self._client.ask(DescribeConfigsRequest(asked), broker)
        except BrokerError as error:
            log.warning("the throttle of %s cannot be read: %s", _listed(kind, names), error)
            return {}
        values = {}
        for row in response.results:
            # A topic that is gone has no throttle.
            if row.error_code in {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}:
                values[kind, row.resource_name] = {
                    config.name: config.value or ""
                    for config in row.configs
                    if config.config_source in SET[kind]
                }
            else:
                why = row.error_message or f"error {row.error_code}"
                log.warning("the throttle of %s cannot be read: %s", _listed(kind, [row.resource_name]), why)
        return values

    async def _alter(self, changes: Changes) -> set[Resource]:
        """Make the changes; return the resources of which one failed. A request cannot name a config twice."""
        failed: set[Resource] = set()
        for subtracts in (False, True):
            some = {
                resource: [change for change in made if (change.op is ConfigOp.SUBTRACT) is subtracts]
                for resource, made in changes.items()
            }
            some = {resource: made for resource, made in some.items() if made}
            topics = [resource for resource in some if resource[0] is ResourceType.TOPIC]
            brokers = [resource for resource in some if resource[0] is ResourceType.BROKER]
            answers = await asyncio.gather(
                *(self._alter_some(some, chunk) for chunk in _chunks(topics)),
                *(self._alter_some(some, [resource], int(resource[1])) for resource in brokers),
            )
            failed = failed.union(*answers)
        return failed

    async def _alter_some(
        self, changes: Changes, resources: Sequence[Resource], broker: int | None = None
    ) -> set[Resource]:
        """Make changes in one request; return the resources that failed."""
        request = IncrementalAlterConfigsRequest(
            [
                AlterConfigsResource(
                    kind,
                    name,
                    [AlterableConfig(config, op.value, value) for config, op, value in changes[kind, name]],
                )
                for kind, name in resources
            ]
        )
        failed, (kind, _) = set(resources), resources[0]
        try:
            response = await self._client.ask(request, broker)
        except BrokerError as error:
            log.warning(
                "the throttle of %s cannot be set: %s", _listed(kind, [name for _, name in resources]), error
            )
            return failed
        # A topic that is gone has no throttle; a list that is `*` takes, and needs, no more entries.
        accepted = {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_CONFIG}
        for row in response.responses:
            if row.error_code in accepted:
                failed.discard((kind, row.resource_name))
            else:
                why = row.error_message or f"error {row.error_code}"
                log.warning("the throttle of %s cannot be set: %s", _listed(kind, [row.resource_name]), why)
        return failed


def _chunks(items: Iterable[Any]) -> Iterator[list[Any]]:
    left = iter(items)
    while chunk := list(islice(left, TOPICS)):
        yield chunk


def _listed(kind: ResourceType, names: Collection[str]) -> str:
    """Up to three names, for a log line."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{kind.name.lower()} {', '.join(sorted(names)[:3])}{more}"
