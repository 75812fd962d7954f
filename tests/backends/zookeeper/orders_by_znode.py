"""Documents of reassignments as people write them, and what a cluster makes of them."""

from typing import Any

from backends.zookeeper.admin.plans import decode_plan
from backends.zookeeper.znodes import paths
from common.clock import settle
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.cluster import Replicas, ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from tests.backends.zookeeper.trees import put
from tests.backends.zookeeper.world import Zookeeper


def document(**rows: list[int]) -> dict[str, Any]:
    """`foo_0=[1, 2]` and so on."""
    return {
        "version": 1,
        "partitions": [
            {"topic": name.rpartition("_")[0], "partition": int(name.rpartition("_")[2]), "replicas": to}
            for name, to in rows.items()
        ],
    }


async def one_at_a_time(world: Zookeeper) -> None:
    limit = ConfigChange("reassignment.max.concurrent.partition.movements", ConfigOp.SET, "1")
    await world.do(AlterConfigs([ResourceChanges(ResourceType.BROKER, "", [limit])]))


async def write(world: Zookeeper, path: str, value: object = b"") -> None:
    await put(world.tree, path, value)
    await settle(200)


def held(world: Zookeeper, path: str = paths.REASSIGN) -> dict[str, Replicas] | None:
    """Partition -> target, as the document says; None when there is none."""
    node = world.tree.nodes.get(path)
    return None if node is None else {str(each.key): each.replicas for each in decode_plan(node.data)}


def originals(world: Zookeeper) -> dict[str, Replicas | None]:
    """Partition -> KIP-236's `original_replicas`, as the document says."""
    data = world.tree.nodes[paths.REASSIGN].data
    return {str(each.key): each.original for each in decode_plan(data)}


async def end(world: Zookeeper) -> None:
    await world.until_idle()
    await settle(200)
