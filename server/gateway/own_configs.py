"""Reassignd's keys on the default of all brokers: the port to them, and its implementation in this process."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from controller.cluster.configs import check_changes, describe_configs
from controller.messages.event import Requester
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.cluster import ResourceType
from controller.model.configs import OWN_PREFIX, ConfigChange, ConfigOp
from controller.model.errors import DONE, Outcome
from controller.ports import SubmitEvent
from controller.state.settings import CLUSTER_DEFAULT
from controller.state.state import State
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_configs_response import DescribeConfigsResourceResult
from server.dispatch.context import RowError
from server.dispatch.router import Caller
from server.handlers.describe_configs import config_rows


class Sender(NamedTuple):
    """The client that sent a request."""

    caller: Caller
    client_id: str | None


class OwnConfigs(Protocol):
    """Reassignd's keys."""

    def check(self, broker: str, changes: Sequence[ConfigChange], /) -> Outcome:
        """Check the changes of a broker's configs, or of the default (""), as far as that is possible now."""
        ...

    async def alter(
        self, changes: Sequence[ConfigChange], sender: Sender, *, validate_only: bool, replace: bool
    ) -> RowError:
        """Change the default of all brokers. `replace` deletes the keys that are not named.

        Raises ApiError if that is not possible at the moment.
        """
        ...

    async def describe(
        self, requested: DescribeConfigsResource, request: DescribeConfigsRequest, sender: Sender
    ) -> list[DescribeConfigsResourceResult]:
        """Return the rows of the requested keys for the default of all brokers. Raises ApiError as `alter` does."""
        ...


class LocalConfigs:
    """Implements `OwnConfigs` with the controller of this process."""

    def __init__(self, state: State, submit: SubmitEvent) -> None:
        self._state, self._submit = state, submit

    def check(self, broker: str, changes: Sequence[ConfigChange]) -> Outcome:
        """See `OwnConfigs.check`."""
        return check_changes(self._state, ResourceChanges(ResourceType.BROKER, broker, changes))

    async def alter(
        self, changes: Sequence[ConfigChange], sender: Sender, *, validate_only: bool, replace: bool
    ) -> RowError:
        """See `OwnConfigs.alter`."""
        if replace:
            changes = [*changes, *self._resets(changes)]
        if not changes:
            return DONE
        resource = ResourceChanges(ResourceType.BROKER, CLUSTER_DEFAULT, changes)
        requester = Requester(sender.caller.principal, sender.client_id, sender.caller.via)
        outcomes = await self._submit(AlterConfigs([resource], validate_only, requester))
        return outcomes[0]

    async def describe(
        self, requested: DescribeConfigsResource, request: DescribeConfigsRequest, _: Sender
    ) -> list[DescribeConfigsResourceResult]:
        """See `OwnConfigs.describe`. Unset keys are included."""
        values = describe_configs(self._state, ResourceType.BROKER, CLUSTER_DEFAULT, unset=True)
        own = (value for value in values if value.key.name.startswith(OWN_PREFIX))
        return config_rows(own, requested, request)

    def _resets(self, changes: Sequence[ConfigChange]) -> list[ConfigChange]:
        """Return deletions of those keys of reassignd that are set and not among the changes."""
        named = {change.config for change in changes}
        before = self._state.configs.get((ResourceType.BROKER, CLUSTER_DEFAULT), {})
        return [
            ConfigChange(name, ConfigOp.DELETE, None)
            for name in before
            if name.startswith(OWN_PREFIX) and name not in named
        ]
