from backends.zookeeper import paths
from backends.zookeeper.election import in_office, resign, stand
from backends.zookeeper.store import Term
from backends.zookeeper.tree import Create, Delete, Set
from tests.backends.zookeeper.trees import CANDIDATE, elected, made, put, read

BROKER = b'{"version":2,"brokerid":2,"timestamp":"17","kraftControllerEpoch":-1}'


async def test_the_first_controller_has_epoch_one_and_is_a_broker_too() -> None:
    tree = await made()
    assert await elected(tree) == Term(1, 1)
    assert read(tree, paths.CONTROLLER)["brokerid"] == 1000
    assert read(tree, paths.broker(1000))["endpoints"] == ["PLAINTEXT://localhost:9000"]
    assert await in_office(tree, lambda: None)


async def test_a_broker_is_relieved() -> None:
    tree = await made()
    tree.write(
        [Create(paths.CONTROLLER, BROKER, ephemeral=True), Create(paths.CONTROLLER_EPOCH, b"7")], session=2
    )
    assert await elected(tree) == Term(8, 1)
    assert tree.nodes[paths.CONTROLLER].session == tree.session


async def test_a_broker_is_waited_for_when_so_configured() -> None:
    tree = await made()
    tree.write([Create(paths.CONTROLLER, BROKER, ephemeral=True)], session=2)
    assert await stand(tree, CANDIDATE._replace(relieve_brokers=False), 0, lambda: None) is None


async def test_another_reassignd_is_waited_for() -> None:
    tree = await made()
    await elected(tree)
    other = tree.connect()
    told: list[bool] = []
    assert await stand(other, CANDIDATE._replace(id=1001), 0, lambda: told.append(True)) is None
    tree.expire(tree.session)
    assert await stand(other, CANDIDATE._replace(id=1001), 0, lambda: None) == Term(2, 2)
    assert told == [True]


async def test_an_office_that_makes_no_sense_is_left_alone() -> None:
    tree = await made()
    await put(tree, paths.CONTROLLER, b"{")
    assert await stand(tree, CANDIDATE, 0, lambda: None) is None


async def test_our_own_earlier_term_is_no_obstacle() -> None:
    tree = await made()
    await elected(tree)
    assert await elected(tree) == Term(2, 2)


async def test_who_resigns_leaves_nothing_behind() -> None:
    tree = await made()
    await resign(tree, CANDIDATE, await elected(tree))
    assert not {paths.CONTROLLER, paths.broker(1000)} & set(tree.nodes)
    assert not await in_office(tree, lambda: None)


async def test_who_was_deposed_has_nothing_to_leave() -> None:
    tree = await made()
    term = await elected(tree)
    epoch = tree.nodes[paths.CONTROLLER_EPOCH].version
    taken = Create(paths.CONTROLLER, BROKER, ephemeral=True)
    tree.write([Delete(paths.CONTROLLER), taken, Set(paths.CONTROLLER_EPOCH, b"2", epoch)], session=9)
    await resign(tree, CANDIDATE, term)
    assert read(tree, paths.CONTROLLER)["brokerid"] == 2
