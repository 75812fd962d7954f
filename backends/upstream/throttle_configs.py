"""Reads and alters throttle configs of an upstream (KIP-73), as `controller.gateway.throttle` decides."""

import asyncio
import logging
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import islice
from typing import TypeVar

from backends.client.channel import BrokerClient
from backends.client.errors import BrokerError
from backends.client.handshake import ClientSettings
from common.backoff import RETRY_RARELY_SECONDS
from common.clock import Clock, within
from common.error_codes import ErrorCode, error_name
from common.wording import some
from controller.execution.cordons import EVERY_DIRECTORY
from controller.gateway.events import CordonRefused, DirsRemoved, ThrottleRead
from controller.gateway.throttle import throttles_to_read
from controller.messages.effects import AlterThrottle, ReadThrottle
from controller.model.configs import (
    CORDONED_LOG_DIRS,
    LOG_DIRS_RATE,
    RATES,
    THROTTLED_REPLICAS,
    ConfigChange,
    ConfigOp,
    ConfigSource,
    Resource,
    ResourceType,
)
from controller.model.disks import BrokerDir
from controller.ports import SubmitEvent
from controller.state.state import State
from protocol.apis import ApiKey
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

T = TypeVar("T")

CORDONS_VERSION = 5
"""Of DescribeLogDirs: the first one that shows cordoned directories (KIP-1066)."""
OUR_VERSIONS = ApiVersionsRequest(ClientSettings().client_id, ClientSettings().software_version)
"""Kafka refuses a request for its versions by a client without a name (KIP-511)."""
REFUSALS = {
    ErrorCode.INVALID_CONFIG,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.POLICY_VIOLATION,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
}
"""Of a cordon. After another error, it is asked for again."""

log = logging.getLogger(__name__)

CONFIGS = {
    ResourceType.TOPIC: THROTTLED_REPLICAS,
    ResourceType.BROKER: (*RATES, LOG_DIRS_RATE, CORDONED_LOG_DIRS),
}
SET = {
    ResourceType.TOPIC: {ConfigSource.DYNAMIC_TOPIC},
    ResourceType.BROKER: {ConfigSource.DYNAMIC_BROKER, ConfigSource.DYNAMIC_DEFAULT_BROKER},
}
"""The config sources of values that were set explicitly."""
PATIENCE_SECONDS = 2.0
"""How long a step waits for its throttle at most: an offline broker must not delay other steps."""
READ_BACK_SECONDS = 0.2
"""Pause before altered values are read again. It doubles while the values lag behind the changes."""
CHECK_SECONDS = 10.0
"""Pause between two reads of all throttles: `--cancel` and `--verify` of Kafka's tool remove them."""
TOPICS = 500
"""Topics per request, far below the 10,000 records that Kafka accepts in one."""

Changes = Mapping[Resource, Sequence[ConfigChange]]


class Progress(Enum):
    """The result of `reconcile`."""

    DONE = "no changes"
    ALTERED = "changes were acknowledged and must be read again"
    FAILED = "a read or a change failed"


class ThrottleConfigs:
    """Carries out `ReadThrottle` and `AlterThrottle`. `submit` gives events to the controller."""

    def __init__(self, client: BrokerClient, state: State, submit: SubmitEvent, clock: Clock) -> None:
        self._client, self._state, self._submit, self._clock = client, state, submit, clock
        self._changed, self._settled = asyncio.Event(), asyncio.Event()
        self._alterations: deque[Changes] = deque()
        self._acknowledged: dict[Resource, Sequence[ConfigChange]] = {}
        """Acknowledged changes since the last read of the resource."""
        self._cordoned_statically: dict[int, str] = {}
        """Values of `cordoned.log.dirs` in the brokers' own settings, where no dynamic one replaces them."""
        self._look_at = clock.now()
        """When brokers are looked at next for excluded directories that were removed."""
        self._unlisted: set[int] = set()
        """Brokers with a lease that are not in the cluster; each was logged once."""
        self._late_since: float | None = None
        """When the first step started before its throttle was set, until all throttles are set."""
        self._settled.set()
        if state.throttle.leases:
            self.perform(ReadThrottle())

    def perform(self, effect: ReadThrottle | AlterThrottle) -> None:
        """See `controller.ports.Backend.perform`."""
        if isinstance(effect, AlterThrottle):
            self._alterations.append(effect.changes)
        else:
            self._settled.clear()
            self._changed.set()

    async def settled(self) -> None:
        """Wait until the throttle is set, or could not be set, for at most PATIENCE_SECONDS."""
        if self._settled.is_set() or await within(self._clock, PATIENCE_SECONDS, self._settled):
            return
        if self._late_since is None:
            self._late_since = self._clock.now()
            log.warning(
                "steps start before their throttle is set: the upstream did not answer within %.0f s. It is"
                " set as soon as it answers",
                PATIENCE_SECONDS,
            )

    async def run(self) -> None:
        """Reconcile on `ReadThrottle`, after failures, and every CHECK_SECONDS.

        Runs until it is cancelled.
        """
        await self._changed.wait()
        every, read_back = False, READ_BACK_SECONDS
        while True:
            self._changed.clear()
            progress = await self.reconcile(every=every)
            if not self._changed.is_set():
                self._settled.set()
                if progress is Progress.DONE and self._late_since is not None:
                    late = self._clock.now() - self._late_since
                    log.info("the throttle is set, %.0f s after steps had started without it", late)
                    self._late_since = None
            pause = {Progress.DONE: CHECK_SECONDS, Progress.ALTERED: read_back}.get(
                progress, RETRY_RARELY_SECONDS
            )
            changed = await self._changed_within(pause)
            every = progress is Progress.DONE and not changed
            again = progress is Progress.ALTERED and not changed
            read_back = min(2 * read_back, CHECK_SECONDS) if again else READ_BACK_SECONDS

    async def _changed_within(self, seconds: float) -> bool:
        """Wait for `ReadThrottle`; at most `seconds` if there is a throttle. Return whether it arrived."""
        if self._state.throttle.leases or self._state.gateway.confirmed_throttles:
            return await within(self._clock, seconds, self._changed)
        return await self._changed.wait()

    async def reconcile(self, *, every: bool = False) -> Progress:
        """Read unconfirmed throttles, or with `every` all; submit them, and make the resulting changes."""
        if self._clock.now() >= self._look_at:
            # Also while changes fail: they do at a broker with a cordon of a directory that was removed.
            self._look_at = self._clock.now() + CHECK_SECONDS
            await self._end_cordons_of_removed()
        values, complete = await self._read(throttles_to_read(self._state, every=every))
        if values:
            altered = {
                resource: self._acknowledged.pop(resource)
                for resource in values
                if resource in self._acknowledged
            }
            # When `submit` returns, `perform` has received the effects of the decision.
            await self._submit(ThrottleRead(values, altered))
        acknowledged = False
        while self._alterations:
            changes = self._alterations.popleft()
            failed = await self._alter(changes)
            succeeded = {resource: made for resource, made in changes.items() if resource not in failed}
            self._acknowledged |= succeeded
            acknowledged |= bool(succeeded)
            complete &= not failed
        if acknowledged:
            return Progress.ALTERED
        return Progress.DONE if complete else Progress.FAILED

    async def _end_cordons_of_removed(self) -> None:
        """Look which of the cordoned directories do not exist any more."""
        excluded, live = self._state.settings.excluded_dirs, self._state.cluster.live
        looks = (self._removed(broker, paths) for broker, paths in excluded.items() if broker in live)
        removed = await asyncio.gather(*looks)
        if gone := [each for of_broker in removed for each in of_broker]:
            log.info("not excluded any more, since they do not exist: %s", some(gone))
            await self._submit(DirsRemoved(gone))

    async def _removed(self, broker: int, paths: Iterable[str]) -> list[BrokerDir]:
        try:
            answer = await self._client.ask(DescribeLogDirsRequest([]), broker)
        except BrokerError:
            return []
        shown = {row.log_dir for row in answer.results}
        return [BrokerDir(broker, path) for path in paths if shown and path not in shown]

    async def _read(self, resources: Sequence[Resource]) -> tuple[dict[Resource, dict[str, str]], bool]:
        """Return the values by resource, and whether all could be read."""
        topics = [name for kind, name in resources if kind is ResourceType.TOPIC]
        brokers = [int(name) for kind, name in resources if kind is ResourceType.BROKER]
        live = [broker for broker in brokers if broker in self._state.cluster.live]
        answers = await asyncio.gather(
            *(self._describe(ResourceType.TOPIC, chunk) for chunk in _chunks(topics)),
            *(self._describe(ResourceType.BROKER, [str(broker)], broker) for broker in live),
        )
        values = {resource: configs for answer in answers for resource, configs in answer.items()}
        down = [broker for broker in brokers if broker not in self._state.cluster.live]
        self._note_unlisted(down)
        listed_down = any(broker in self._state.cluster.brokers for broker in down)
        return values, not listed_down and len(values) == len(topics) + len(live)

    def _note_unlisted(self, down: Iterable[int]) -> None:
        """Log brokers that are not in the cluster. They are not retried before they return."""
        unlisted = {broker for broker in down if broker not in self._state.cluster.brokers}
        for broker in sorted(unlisted - self._unlisted):
            log.warning(
                "the throttle of broker %d is not removed: the broker is not in the cluster. It is removed if"
                " the broker returns",
                broker,
            )
        self._unlisted = unlisted

    async def _describe(
        self, kind: ResourceType, names: Sequence[str], broker: int | None = None
    ) -> dict[Resource, dict[str, str]]:
        """Return the throttle configs that are set, by resource, without resources that cannot be read."""
        asked = [DescribeConfigsResource(kind, name, CONFIGS[kind]) for name in names]
        try:
            request = DescribeConfigsRequest(asked, include_synonyms=broker is not None)
            response: DescribeConfigsResponse = await self._client.ask(request, broker)
        except BrokerError as error:
            log.warning("the throttle of %s cannot be read: %s", _listed(kind, names), error)
            return {}
        values = {}
        for row in response.results:
            if row.resource_name not in names:
                continue  # nobody has asked for it
            # A deleted topic has no throttle.
            if row.error_code in {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}:
                self._note_static_cordon(row)
                values[kind, row.resource_name] = {
                    config.name: _set_value(config)
                    for config in row.configs
                    if self._counts(kind, row.resource_name, config)
                }
            else:
                why = row.error_message or f"error {row.error_code}"
                log.warning("the throttle of %s cannot be read: %s", _listed(kind, [row.resource_name]), why)
        return values

    def _note_static_cordon(self, row: DescribeConfigsResult) -> None:
        """Remember the cordon in the broker's own settings, or that it has none."""
        for config in row.configs:
            if config.name == CORDONED_LOG_DIRS:
                static = config.config_source == ConfigSource.STATIC_BROKER
                self._cordoned_statically[int(row.resource_name)] = (config.value or "") if static else ""

    def _counts(self, kind: ResourceType, name: str, config: DescribeConfigsResourceResult) -> bool:
        """Whether the value is that of the resource, or of all brokers.

        With a lease the latter does not count: Kafka shows it as soon as the broker's own rate is removed,
        and it can be equal to that.
        """
        if config.config_source == ConfigSource.DYNAMIC_DEFAULT_BROKER:
            return (kind, name, config.name) not in self._state.throttle.leases
        return config.config_source in SET[kind]

    async def _alter(self, changes: Changes) -> set[Resource]:
        """Make the changes; return the resources with a failure.

        Appends go first: a request can name a config only once. Cordons go alone: an upstream that refuses
        them sets a throttle all the same.
        """
        failed: set[Resource] = set()
        for turn in _Turn:
            batch = {
                resource: [change for change in all_of if _turn_of(change) is turn]
                for resource, all_of in changes.items()
            }
            batch = {resource: selected for resource, selected in batch.items() if selected}
            topics = [resource for resource in batch if resource[0] is ResourceType.TOPIC]
            brokers = [resource for resource in batch if resource[0] is ResourceType.BROKER]
            answers = await asyncio.gather(
                *(self._alter_batch(batch, chunk) for chunk in _chunks(topics)),
                *(self._alter_batch(batch, [resource], int(resource[1])) for resource in brokers),
            )
            failed = failed.union(*answers)
        return failed

    async def _alter_batch(
        self, changes: Changes, resources: Sequence[Resource], broker: int | None = None
    ) -> set[Resource]:
        """Change these resources in one request; return those that failed."""
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
        failed, (kind, name) = set(resources), resources[0]
        cordon, value = _is_cordon(changes[kind, name]), changes[kind, name][0].value or ""
        what = "cordon" if cordon else "throttle"
        if cordon and not await self._can_cordon(int(name), value):
            return failed
        try:
            response = await self._client.ask(request, broker)
        except BrokerError as error:
            names = [name for _, name in resources]
            log.warning("the %s of %s cannot be set: %s", what, _listed(kind, names), error)
            return failed
        # A deleted topic has no throttle.
        accepted = {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        for row in response.responses:
            if row.error_code in accepted:
                failed.discard((kind, row.resource_name))
            else:
                why = row.error_message or f"error {row.error_code}"
                if cordon and row.error_code in REFUSALS:
                    # A metadata version before 4.3-IV0 has no cordons.
                    await self._submit(CordonRefused(int(row.resource_name), why, value))
                log.warning("the %s of %s cannot be set: %s", what, _listed(kind, [row.resource_name]), why)
        return failed

    async def _can_cordon(self, broker: int, value: str) -> bool:
        """Return whether the broker knows cordoned directories, and these can be named beside others.

        An earlier Kafka accepts any config that it does not know. A dynamic value replaces a static one.
        """
        if value != EVERY_DIRECTORY and (static := self._cordoned_statically.get(broker)):
            why = f"its own settings have {CORDONED_LOG_DIRS}={static}, which another value would replace"
            await self._submit(CordonRefused(broker, why, value))
            return False
        try:
            answer = await self._client.ask(OUR_VERSIONS, broker)
        except BrokerError as error:
            log.warning("broker %d does not tell whether it can be cordoned: %s", broker, error)
            return False
        if answer.error_code != ErrorCode.NONE:
            why = error_name(answer.error_code)
            log.warning("broker %d does not tell whether it can be cordoned: %s", broker, why)
            return False
        served = {row.api_key: row.max_version for row in answer.api_keys}
        if served.get(ApiKey.DESCRIBE_LOG_DIRS, 0) >= CORDONS_VERSION:
            return True
        await self._submit(CordonRefused(broker, "it is older than Kafka 4.3", value))
        return False


class _Turn(Enum):
    """The order of requests for one resource."""

    ADD = "add or set"
    SUBTRACT = "remove from a list"
    CORDON = "cordon"
    UNCORDON = "end a cordon"


def _set_value(config: DescribeConfigsResourceResult) -> str:
    """Return the value that is set.

    The value of a broker that could not apply its configs is what it goes by in their place (Kafka 4.3).
    """
    same_source = (each for each in config.synonyms or () if each.source == config.config_source)
    return next((each.value for each in same_source), config.value) or ""


def _turn_of(change: ConfigChange) -> _Turn:
    if change.config == CORDONED_LOG_DIRS:
        return _Turn.CORDON if _is_cordon([change]) else _Turn.UNCORDON
    return _Turn.SUBTRACT if change.op is ConfigOp.SUBTRACT else _Turn.ADD


def _is_cordon(changes: Sequence[ConfigChange]) -> bool:
    """Whether the request was to cordon the broker."""
    ops = {change.op for change in changes if change.config == CORDONED_LOG_DIRS}
    return not ops.isdisjoint({ConfigOp.SET, ConfigOp.APPEND})


def _chunks(items: Iterable[T]) -> Iterator[list[T]]:
    left = iter(items)
    while chunk := list(islice(left, TOPICS)):
        yield chunk


def _listed(kind: ResourceType, names: Collection[str]) -> str:
    """Return up to three names for a log line."""
    return f"{kind.name.lower()} {some(sorted(names), 3)}"
