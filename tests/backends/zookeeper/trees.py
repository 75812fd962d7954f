"""Trees of znodes to test on, and stores on them."""

import json
from typing import Any

from backends.zookeeper.session.tree import Create, Set, ensure
from backends.zookeeper.store.loading import load
from backends.zookeeper.store.record_chunks import REDO, chunk_parents
from backends.zookeeper.store.store import Term, ZkStore
from backends.zookeeper.term.election import Candidate, run_election
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.formats import Endpoint, Registration
from tests.backends.zookeeper.memory_tree import MemoryTree

CANDIDATE = Candidate(1000, Registration((Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9000),)))

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


async def made(**topics: list[list[int]]) -> MemoryTree:
    """A tree with these topics, each partition led by its first replica, all in sync."""
    tree = MemoryTree()
    await ensure(tree, *BASE, *chunk_parents(), REDO)
    for name, assignment in topics.items():
        rows = {str(number): replicas for number, replicas in enumerate(assignment)}
        await put(tree, paths.topic(name), {"version": 3, "partitions": rows})
        await ensure(tree, paths.partitions(name))
        for number, replicas in enumerate(assignment):
            await ensure(tree, paths.partition(name, number))
            await put_state(tree, name, number, isr=replicas, leader=replicas[0])
    return tree


async def put(tree: MemoryTree, path: str, value: Any) -> None:
    """Write the znode, whoever we are; a string or bytes as they are."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    there = tree.nodes.get(path)
    tree.write([Create(path, data) if there is None else Set(path, data, there.version)], session=7)


async def put_state(tree: MemoryTree, topic: str, number: int, **values: Any) -> None:
    """Write a partition's state as its leader does."""
    state = {"version": 1, "leader_epoch": 0, "controller_epoch": 1, **values}
    await put(tree, paths.state(topic, number), state)


def read(tree: MemoryTree, path: str) -> Any:
    """The JSON of a znode, None when there is none."""
    node = tree.nodes.get(path)
    return None if node is None else json.loads(node.data or b"null")


async def elected(tree: MemoryTree) -> Term:
    term = await run_election(tree, CANDIDATE, 0, lambda: None)
    assert term is not None
    return term


async def store_on(tree: MemoryTree) -> ZkStore:
    """A store for a term that was just won."""
    return ZkStore(tree, await elected(tree), await load(tree), with_topic_ids=False)
