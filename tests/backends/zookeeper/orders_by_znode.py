"""Plans as tools write them into znodes, and their state in the cluster."""

from typing import Any

from backends.zookeeper.admin.orders import decode_plan
from backends.zookeeper.znodes import paths
from common.clock import settle
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.cluster import Replicas, ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from tests.backends.zookeeper.harness import ZookeeperHarness
from tests.backends.zookeeper.trees import write_json


def document(**rows: list[int]) -> dict[str, Any]:
    """Return a plan; `foo_0=[1, 2]` is the target of partition foo-0."""
    return {
        "version": 1,
        "partitions": [
            {"topic": name.rpartition("_")[0], "partition": int(name.rpartition("_")[2]), "replicas": to}
            for name, to in rows.items()
        ],
    }


async def one_at_a_time(harness: ZookeeperHarness) -> None:
    limit = ConfigChange("reassignment.max.concurrent.partition.movements", ConfigOp.SET, "1")
    await harness.do(AlterConfigs([ResourceChanges(ResourceType.BROKER, "", [limit])]))


async def write(harness: ZookeeperHarness, path: str, value: object = b"") -> None:
    await write_json(harness.tree, path, value)
    await settle(200)


def held(harness: ZookeeperHarness, path: str = paths.REASSIGN) -> dict[str, Replicas] | None:
    """Return partition -> target from the plan; None if there is no plan."""
    node = harness.tree.nodes.get(path)
    return None if node is None else {str(each.key): each.replicas for each in decode_plan(node.data)}


def originals(harness: ZookeeperHarness) -> dict[str, Replicas | None]:
    """Return partition -> `original_replicas` from the plan (KIP-236)."""
    data = harness.tree.nodes[paths.REASSIGN].data
    return {str(each.key): each.original for each in decode_plan(data)}


async def end(harness: ZookeeperHarness) -> None:
    await harness.until_idle()
    await settle(200)
