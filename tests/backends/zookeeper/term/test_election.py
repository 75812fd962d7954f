import asyncio
from collections.abc import Sequence

import pytest

from backends.zookeeper.session.tree import ANY, Create, Delete, Operation, Set, ZookeeperError
from backends.zookeeper.store.store import DeposedError, Term
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
from tests.backends.zookeeper.trees import CANDIDATE, elected, made, put, read

BROKER = b'{"version":2,"brokerid":2,"timestamp":"17","kraftControllerEpoch":-1}'


class Contested(MemoryTree):
    """Each of these writes of someone else's comes just before one of ours."""

    rival: list[Sequence[Operation]]

    async def multi(self, operations: Sequence[Operation]) -> None:
        if self.rival:
            self.write(self.rival.pop(0), session=9)
        await super().multi(operations)


async def contested(*rival: Sequence[Operation]) -> Contested:
    tree = Contested((await made()).nodes)
    tree.write([Create(paths.CONTROLLER_EPOCH, b"7")], session=9)
    tree.rival = list(rival)
    return tree


async def test_the_first_controller_has_epoch_one_and_is_no_broker() -> None:
    tree = await made()
    assert await elected(tree) == Term(1, 1)
    assert read(tree, paths.CONTROLLER)["brokerid"] == 1000
    assert paths.broker(1000) not in tree.nodes
    assert await is_controller(tree, lambda: None)


async def test_a_broker_is_relieved() -> None:
    tree = await made()
    tree.write(
        [Create(paths.CONTROLLER, BROKER, ephemeral=True), Create(paths.CONTROLLER_EPOCH, b"7")], session=2
    )
    assert await elected(tree) == Term(8, 1)
    assert tree.nodes[paths.CONTROLLER].ephemeral_owner == tree.session_id


async def test_a_broker_is_waited_for_when_so_configured() -> None:
    tree = await made()
    tree.write([Create(paths.CONTROLLER, BROKER, ephemeral=True)], session=2)
    assert await run_election(tree, CANDIDATE._replace(depose_brokers=False), 0, lambda: None) is None


async def test_another_reassignd_is_waited_for() -> None:
    tree = await made()
    await elected(tree)
    other = tree.connect()
    told: list[bool] = []
    assert await run_election(other, CANDIDATE._replace(id=1001), 0, lambda: told.append(True)) is None
    tree.expire(tree.session_id)
    assert await run_election(other, CANDIDATE._replace(id=1001), 0, lambda: None) == Term(2, 2)
    assert told == [True]


async def test_an_office_that_makes_no_sense_is_left_alone() -> None:
    tree = await made()
    await put(tree, paths.CONTROLLER, b"{")
    assert await run_election(tree, CANDIDATE, 0, lambda: None) is None


async def test_an_epoch_that_was_read_too_early_is_read_again() -> None:
    tree = await contested([Set(paths.CONTROLLER_EPOCH, b"8", 0)])
    assert await elected(tree) == Term(9, 2)


async def test_who_was_quicker_has_the_office_and_is_watched() -> None:
    tree = await contested([Create(paths.CONTROLLER, BROKER), Set(paths.CONTROLLER_EPOCH, b"8", 0)])
    told = asyncio.Event()
    assert await run_election(tree, CANDIDATE, 0, told.set) is None
    await told.wait()
    assert await elected(tree) == Term(9, 2)


async def test_a_tree_that_never_rests_is_an_error() -> None:
    tree = await contested(*([Set(paths.CONTROLLER_EPOCH, b"8", ANY)] for _ in range(ATTEMPTS)))
    with pytest.raises(ZookeeperError, match="not elected"):
        await run_election(tree, CANDIDATE, 0, lambda: None)


async def test_our_own_earlier_term_is_no_obstacle() -> None:
    tree = await made()
    await elected(tree)
    assert await elected(tree) == Term(2, 2)


async def test_who_resigns_leaves_nothing_behind() -> None:
    tree = await made()
    await resign(tree, CANDIDATE, await elected(tree))
    assert not {paths.CONTROLLER, paths.broker(1000)} & set(tree.nodes)
    assert not await is_controller(tree, lambda: None)


async def test_who_was_deposed_has_nothing_to_leave() -> None:
    tree = await made()
    term = await elected(tree)
    epoch = tree.nodes[paths.CONTROLLER_EPOCH].version
    taken = Create(paths.CONTROLLER, BROKER, ephemeral=True)
    tree.write([Delete(paths.CONTROLLER), taken, Set(paths.CONTROLLER_EPOCH, b"2", epoch)], session=9)
    await resign(tree, CANDIDATE, term)
    assert read(tree, paths.CONTROLLER)["brokerid"] == 2


async def never() -> None:
    await asyncio.Event().wait()


async def test_work_that_ends_in_office_is_returned() -> None:
    tree = await made()
    await elected(tree)
    ending = asyncio.get_running_loop().create_future()
    assert await while_controller(tree, ending, asyncio.sleep(0, "done")) == "done"


async def test_work_is_given_up_when_another_is_elected() -> None:
    tree = await made()
    await elected(tree)
    working = asyncio.create_task(while_controller(tree, asyncio.get_running_loop().create_future(), never()))
    await settle(10)
    assert not working.done()
    tree.write([Delete(paths.CONTROLLER), Create(paths.CONTROLLER, BROKER, ephemeral=True)], session=9)
    with pytest.raises(DeposedError):
        await working


async def test_work_is_given_up_when_the_term_is_to_end() -> None:
    tree = await made()
    await elected(tree)
    ending: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
    working = asyncio.create_task(while_controller(tree, ending, never()))
    await settle(10)
    ending.set_result(ZookeeperError("the session is lost"))
    with pytest.raises(ZookeeperError, match="session"):
        await working


async def test_rights_are_checked_without_a_trace() -> None:
    tree = await made()
    await elected(tree)
    before = dict(tree.nodes)
    await check_permissions(tree)
    assert tree.nodes == before


async def test_a_lack_of_rights_is_told() -> None:
    tree = await made()
    tree.lost = True
    with pytest.raises(ZookeeperError):
        await check_permissions(tree)
