import asyncio
from collections.abc import Sequence

import pytest

from backends.zookeeper.session.tree import ANY, Create, Delete, Operation, Set, ZookeeperError
from backends.zookeeper.store.store import DeposedError, ElectedTerm
from backends.zookeeper.term.election import (
    ATTEMPTS,
    check_permissions,
    is_controller,
    resign,
    run_election,
    while_controller,
)
from backends.zookeeper.znodes import paths
from common.clock import settle
from tests.backends.zookeeper.memory_tree import MemoryTree
from tests.backends.zookeeper.trees import CANDIDATE, elect, read_json, tree_with, write_json

BROKER = b'{"version":2,"brokerid":2,"timestamp":"17","kraftControllerEpoch":-1}'


class Contested(MemoryTree):
    """A tree on which another client makes one of these writes before each of our multis."""

    rival: list[Sequence[Operation]]

    async def multi(self, operations: Sequence[Operation]) -> None:
        if self.rival:
            self.write(self.rival.pop(0), session=9)
        await super().multi(operations)


async def contested(*rival: Sequence[Operation]) -> Contested:
    tree = Contested((await tree_with()).nodes)
    tree.write([Create(paths.CONTROLLER_EPOCH, b"7")], session=9)
    tree.rival = list(rival)
    return tree


async def test_the_first_controller_has_epoch_one() -> None:
    tree = await tree_with()
    assert await elect(tree) == ElectedTerm(1, 1)
    assert read_json(tree, paths.CONTROLLER)["brokerid"] == 1000
    assert paths.broker(1000) not in tree.nodes
    assert await is_controller(tree, lambda: None)


async def test_a_broker_is_deposed() -> None:
    tree = await tree_with()
    tree.write(
        [Create(paths.CONTROLLER, BROKER, ephemeral=True), Create(paths.CONTROLLER_EPOCH, b"7")], session=2
    )
    assert await elect(tree) == ElectedTerm(8, 1)
    assert tree.nodes[paths.CONTROLLER].ephemeral_owner == tree.session_id


async def test_a_broker_is_not_deposed_if_so_configured() -> None:
    tree = await tree_with()
    tree.write([Create(paths.CONTROLLER, BROKER, ephemeral=True)], session=2)
    assert await run_election(tree, CANDIDATE._replace(depose_brokers=False), 0, lambda: None) is None


async def test_another_reassignd_is_not_deposed() -> None:
    tree = await tree_with()
    await elect(tree)
    other = tree.connect()
    told: list[bool] = []
    assert await run_election(other, CANDIDATE._replace(id=1001), 0, lambda: told.append(True)) is None
    tree.expire(tree.session_id)
    assert await run_election(other, CANDIDATE._replace(id=1001), 0, lambda: None) == ElectedTerm(2, 2)
    assert told == [True]


async def test_an_invalid_controller_znode_is_not_replaced() -> None:
    tree = await tree_with()
    await write_json(tree, paths.CONTROLLER, b"{")
    assert await run_election(tree, CANDIDATE, 0, lambda: None) is None


async def test_an_outdated_epoch_is_read_again() -> None:
    tree = await contested([Set(paths.CONTROLLER_EPOCH, b"8", 0)])
    assert await elect(tree) == ElectedTerm(9, 2)


async def test_a_faster_candidate_wins_and_is_watched() -> None:
    tree = await contested([Create(paths.CONTROLLER, BROKER), Set(paths.CONTROLLER_EPOCH, b"8", 0)])
    told = asyncio.Event()
    assert await run_election(tree, CANDIDATE, 0, told.set) is None
    await told.wait()
    assert await elect(tree) == ElectedTerm(9, 2)


async def test_permanent_conflicts_are_an_error() -> None:
    tree = await contested(*([Set(paths.CONTROLLER_EPOCH, b"8", ANY)] for _ in range(ATTEMPTS)))
    with pytest.raises(ZookeeperError, match="not elected"):
        await run_election(tree, CANDIDATE, 0, lambda: None)


async def test_our_own_earlier_term_is_replaced() -> None:
    tree = await tree_with()
    await elect(tree)
    assert await elect(tree) == ElectedTerm(2, 2)


async def test_resigning_deletes_our_znodes() -> None:
    tree = await tree_with()
    await resign(tree, CANDIDATE, await elect(tree))
    assert not {paths.CONTROLLER, paths.broker(1000)} & set(tree.nodes)
    assert not await is_controller(tree, lambda: None)


async def test_resigning_after_a_deposition_deletes_nothing() -> None:
    tree = await tree_with()
    term = await elect(tree)
    epoch = tree.nodes[paths.CONTROLLER_EPOCH].version
    taken = Create(paths.CONTROLLER, BROKER, ephemeral=True)
    tree.write([Delete(paths.CONTROLLER), taken, Set(paths.CONTROLLER_EPOCH, b"2", epoch)], session=9)
    await resign(tree, CANDIDATE, term)
    assert read_json(tree, paths.CONTROLLER)["brokerid"] == 2


async def never() -> None:
    await asyncio.Event().wait()


async def test_the_result_of_work_within_the_term_is_returned() -> None:
    tree = await tree_with()
    await elect(tree)
    ending = asyncio.get_running_loop().create_future()
    assert await while_controller(tree, ending, asyncio.sleep(0, "done")) == "done"


async def test_work_is_cancelled_when_another_controller_is_elected() -> None:
    tree = await tree_with()
    await elect(tree)
    working = asyncio.create_task(while_controller(tree, asyncio.get_running_loop().create_future(), never()))
    await settle(10)
    assert not working.done()
    tree.write([Delete(paths.CONTROLLER), Create(paths.CONTROLLER, BROKER, ephemeral=True)], session=9)
    with pytest.raises(DeposedError):
        await working


async def test_work_is_cancelled_when_the_term_ends() -> None:
    tree = await tree_with()
    await elect(tree)
    ending: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
    working = asyncio.create_task(while_controller(tree, ending, never()))
    await settle(10)
    ending.set_result(ZookeeperError("the session is lost"))
    with pytest.raises(ZookeeperError, match="session"):
        await working


async def test_checking_permissions_changes_nothing() -> None:
    tree = await tree_with()
    await elect(tree)
    before = dict(tree.nodes)
    await check_permissions(tree)
    assert tree.nodes == before


async def test_missing_permissions_are_an_error() -> None:
    tree = await tree_with()
    tree.lost = True
    with pytest.raises(ZookeeperError):
        await check_permissions(tree)
