"""Changes of the cluster-wide dynamic configs: limits, the schedule, load, and what is excluded."""

from collections.abc import Sequence

from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigChange
from controller.state.settings import CLUSTER_DEFAULT
from server.api.shared.call import Call
from server.api.shared.errors import require


async def alter_cluster_configs(call: Call, changes: Sequence[ConfigChange]) -> None:
    """Make all changes, or none. They are durable. Raises HttpError."""
    resource = ResourceChanges(ResourceType.BROKER, CLUSTER_DEFAULT, changes)
    [outcome] = await call.submit(AlterConfigs([resource], requester=call.requester))
    require(outcome)
