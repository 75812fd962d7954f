"""Memory trees with topics, and stores on them."""

import json
from typing import Any

from backends.zookeeper.session.tree import Create, Set, ensure
from backends.zookeeper.store.loading import load
from backends.zookeeper.store.records import REDO, chunk_parents
from backends.zookeeper.store.store import ElectedTerm, ZkStore
from backends.zookeeper.term.election import ControllerCandidate, run_election
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.formats import Endpoint, Registration
from tests.backends.zookeeper.memory_tree import MemoryTree

CANDIDATE = ControllerCandidate(1000, Registration((Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9000),)))

BASE = (
    "/brokers/ids",
    "/brokers/topics",
    "/config/changes",
    "/config/topics",
    "/config/brokers",
    "/admin/delete_topics",
    "/isr_change_notification",
    "/log_dir_event_notification",
)


async def tree_with(**topics: list[list[int]]) -> MemoryTree:
    """Return a tree with these topics; the first replica of each partition leads, and all are in the ISR."""
    tree = MemoryTree()
    await ensure(tree, *BASE, *chunk_parents(), REDO)
    for name, assignment in topics.items():
        rows = {str(number): replicas for number, replicas in enumerate(assignment)}
        await write_json(tree, paths.topic(name), {"version": 3, "partitions": rows})
        await ensure(tree, paths.partitions(name))
        for number, replicas in enumerate(assignment):
            await ensure(tree, paths.partition(name, number))
            await write_state(tree, name, number, isr=replicas, leader=replicas[0])
    return tree


async def write_json(tree: MemoryTree, path: str, value: Any) -> None:
    """Write a znode as another client, as JSON; bytes are written unchanged."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    there = tree.nodes.get(path)
    tree.write([Create(path, data) if there is None else Set(path, data, there.version)], session=7)


async def write_state(tree: MemoryTree, topic: str, number: int, **values: Any) -> None:
    """Write a partition's state, as its leader does."""
    state = {"version": 1, "leader_epoch": 0, "controller_epoch": 1, **values}
    await write_json(tree, paths.state(topic, number), state)


def read_json(tree: MemoryTree, path: str) -> Any:
    """Return the decoded JSON of a znode, None if it does not exist."""
    node = tree.nodes.get(path)
    return None if node is None else json.loads(node.data or b"null")


async def elect(tree: MemoryTree) -> ElectedTerm:
    term = await run_election(tree, CANDIDATE, 0, lambda: None)
    assert term is not None
    return term


async def open_store(tree: MemoryTree) -> ZkStore:
    """Win an election, and return the store of the term."""
    return ZkStore(tree, await elect(tree), await load(tree), with_topic_ids=False)
