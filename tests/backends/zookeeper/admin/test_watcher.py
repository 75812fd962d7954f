"""Reassignments by znode, in a cluster that carries them out (KIP-236, KIP-455)."""

from collections.abc import AsyncIterator, Sequence
from functools import partial

import pytest

from backends.zookeeper.admin import watcher
from backends.zookeeper.admin.plans import Entry, encode_plan, fitting
from backends.zookeeper.admin.watcher import DIGESTS, PlanFormat
from backends.zookeeper.session.tree import Create, Delete, Operation
from backends.zookeeper.znodes import paths
from common.clock import settle
from tests.backends.zookeeper.orders_by_znode import (
    document,
    end,
    held,
    one_at_a_time,
    originals,
    write,
)
from tests.backends.zookeeper.trees import put, read
from tests.backends.zookeeper.world import Zookeeper

THREE = {"foo-0": [1, 2, 3], "foo-1": [2, 3, 1], "foo-2": [3, 1, 2]}


@pytest.fixture
async def world() -> AsyncIterator[Zookeeper]:
    world = await Zookeeper().start()
    await world.having(THREE)
    yield world
    await world.stop()


async def test_a_document_is_carried_out_and_removed(world: Zookeeper) -> None:
    await write(world, paths.REASSIGN, document(foo_0=[4, 5, 6], foo_1=[2, 3, 1]))
    assert held(world) == {"foo-0": (4, 5, 6)}
    await end(world)
    assert held(world) is None
    assert world.hosts("foo-0") == {4, 5, 6}


async def test_entries_go_as_they_end(world: Zookeeper) -> None:
    await one_at_a_time(world)
    await write(world, paths.REASSIGN, document(foo_0=[4, 2, 3], foo_1=[5, 3, 1]))
    assert set(held(world) or ()) == {"foo-0", "foo-1"}
    await world.until(lambda: set(held(world) or ()) == {"foo-1"})
    await end(world)
    assert held(world) is None


async def test_what_is_not_valid_is_dropped_and_the_rest_goes_on(
    world: Zookeeper, caplog: pytest.LogCaptureFixture
) -> None:
    await write(world, paths.REASSIGN, document(foo_0=[], foo_1=[4, 3, 1], foo_2=[99], foo_7=[1], bar_0=[1]))
    assert set(held(world) or ()) == {"foo-1"}
    assert (
        "foo-0 is not reassigned: The manual partition assignment includes an empty replica list."
        in caplog.text
    )
    assert "foo-2 is not reassigned: The manual partition assignment includes broker 99" in caplog.text
    assert "bar-0 is not reassigned" in caplog.text
    await end(world)
    assert world.hosts("foo-0") == {1, 2, 3}


async def test_a_document_of_a_megabyte_that_names_nothing_real_is_a_few_lines_in_the_log(
    world: Zookeeper, caplog: pytest.LogCaptureFixture
) -> None:
    await write(world, paths.REASSIGN, document(**{f"none_{n}": [1, 2, 3, 4, 5, 6] for n in range(13_000)}))
    assert held(world) is None
    assert "12980 more rows are rejected" in caplog.text
    assert len(caplog.records) < 30


async def test_a_document_in_which_nothing_is_valid_is_removed(world: Zookeeper) -> None:
    await write(world, paths.REASSIGN, document(foo_0=[]))
    assert held(world) is None


async def test_a_write_while_it_is_not_empty_is_ignored(
    world: Zookeeper, caplog: pytest.LogCaptureFixture
) -> None:
    await write(world, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    await write(world, paths.REASSIGN, document(foo_1=[5, 3, 1]))
    assert set(held(world) or ()) == {"foo-0"}
    assert "was overwritten while its plan was carried out: ignored" in caplog.text
    await end(world)
    assert world.hosts("foo-1") == {1, 2, 3}


async def test_one_that_is_removed_while_it_is_not_empty_is_written_again(
    world: Zookeeper, caplog: pytest.LogCaptureFixture
) -> None:
    await write(world, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    await world.tree.multi([Delete(paths.REASSIGN)])
    await settle(200)
    assert set(held(world) or ()) == {"foo-0"}
    assert "was deleted before its plan ended; it is written again" in caplog.text


@pytest.mark.parametrize("value", [b"{garbage", b"", {"partitions": 7}, [], b"\xff" * 1000, b"[" * 900_000])
async def test_garbage_is_left_as_it_is_until_somebody_mends_it(
    world: Zookeeper, value: object, caplog: pytest.LogCaptureFixture
) -> None:
    await write(world, paths.REASSIGN, value)
    await world.alter({"foo-1": [4, 3, 1]})
    await end(world)
    assert caplog.text.count(f"{paths.REASSIGN} is ignored and left unchanged") == 1
    await write(world, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    await end(world)
    assert world.hosts("foo-0") == {2, 3, 4}
    assert held(world) is None


async def test_an_order_by_45_takes_its_partition_out_of_the_document(world: Zookeeper) -> None:
    await write(world, paths.REASSIGN, document(foo_0=[4, 2, 3], foo_1=[5, 3, 1]))
    await world.alter({"foo-0": [6, 2, 3], "foo-1": None})
    await settle(200)
    assert held(world) is None
    await end(world)
    assert world.hosts("foo-0") == {2, 3, 6}


async def test_a_document_counts_before_what_45_ordered_earlier(world: Zookeeper) -> None:
    await world.alter({"foo-0": [6, 2, 3]})
    await write(world, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    assert held(world) == {"foo-0": (4, 2, 3)}
    await end(world)
    assert world.hosts("foo-0") == {2, 3, 4}


async def test_what_45_ordered_is_held_until_it_ends_when_the_document_names_it_too(world: Zookeeper) -> None:
    await world.alter({"foo-0": [4, 2, 3]})
    await write(world, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    next_life = await world.survivor(world.commits)
    await settle(200)
    for each in (world, next_life):
        assert held(each) == {"foo-0": (4, 2, 3)}
    await end(next_life)
    assert held(next_life) is None
    await next_life.stop()


async def test_a_topic_deleted_in_mid_move_leaves_the_document(world: Zookeeper) -> None:
    await world.having({"bar-0": [1, 2]})
    await write(world, paths.REASSIGN, document(foo_0=[4, 2, 3], bar_0=[3, 4]))
    await write(world, paths.delete_topic("bar"))
    await end(world)
    assert held(world) is None
    assert "bar" not in world.state.topics


async def test_it_is_written_as_kafka_writes_it_and_rolled_back_all_the_same(world: Zookeeper) -> None:
    """Tools and brokers of Kafka take no document with keys that they do not know."""
    await write(world, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    assert read(world.tree, paths.REASSIGN) == document(foo_0=[4, 2, 3])
    await write(world, paths.CANCEL)
    await end(world)
    assert world["foo-0"].replicas == (1, 2, 3)


async def test_the_originals_are_in_it_where_that_is_wanted() -> None:
    world = await Zookeeper(form=PlanFormat(plain=False)).start()
    await world.having(THREE)
    await write(world, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    assert originals(world) == {"foo-0": (1, 2, 3)}
    await write(world, paths.CANCEL)
    await end(world)
    assert world["foo-0"].replicas == (1, 2, 3)
    await world.stop()


@pytest.mark.parametrize("after", [True, False])
async def test_a_plan_goes_on_after_a_change_of_the_form(after: bool) -> None:
    world = await Zookeeper(form=PlanFormat(plain=not after)).start()
    await world.having(THREE)
    await write(world, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    world.form = PlanFormat(plain=after)
    next_life = await world.survivor(world.commits)
    await settle(200)
    assert originals(next_life) == {"foo-0": None if after else (1, 2, 3)}
    assert len(next_life.state.jobs) == 1
    await write(next_life, paths.CANCEL)
    await end(next_life)
    assert next_life["foo-0"].replicas == (1, 2, 3)
    for each in (world, next_life):
        await each.stop()


async def test_an_entry_stays_until_its_topic_shows_the_end(world: Zookeeper) -> None:
    """Kafka's tools take one that is neither in the plan nor at its target for failed."""
    await write(world, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    seen: set[tuple[bool, bool]] = set()
    multi = world.tree.multi

    async def slowly(operations: Sequence[Operation]) -> None:
        if any(each.path == paths.topic("foo") for each in operations):
            world.znodes.on_written()  # As when another commit ends.
            await settle(50)
        await multi(operations)
        at_target = read(world.tree, paths.topic("foo"))["partitions"]["0"] == [4, 2, 3]
        seen.add((held(world) is None, at_target))

    world.tree.multi = slowly  # type: ignore[method-assign]
    await end(world)
    assert (True, True) in seen
    assert (True, False) not in seen


async def test_what_does_not_fit_into_a_znode_is_carried_out_and_cancelled_all_the_same(
    world: Zookeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = len(encode_plan([Entry("foo", 0, (4, 5, 6))]))
    monkeypatch.setattr(watcher, "fitting", partial(fitting, limit=one + 1))
    await write(world, paths.REASSIGN, document(foo_0=[4, 5, 6], foo_1=[5, 3, 1], foo_2=[6, 1, 2]))
    assert held(world) == {"foo-0": (4, 5, 6)}
    next_life = await world.survivor(world.commits)
    await end(next_life)
    assert (next_life.hosts("foo-2"), held(next_life)) == ({1, 2, 6}, None)
    await next_life.stop()
    await write(world, paths.CANCEL)
    await end(world)
    assert [world[name].replicas for name in THREE] == [tuple(each) for each in THREE.values()]


async def test_an_order_is_taken_on_by_the_next_controller(world: Zookeeper) -> None:
    await one_at_a_time(world)
    await write(world, paths.REASSIGN, document(foo_0=[4, 2, 3], foo_1=[5, 3, 1]))
    await world.alter({"foo-1": None})
    await settle(200)
    next_life = await world.survivor(world.commits)
    await settle(200)
    assert set(held(next_life) or ()) == {"foo-0"}
    await end(next_life)
    assert held(next_life) is None
    assert next_life.hosts("foo-1") == {1, 2, 3}
    await next_life.stop()


async def test_a_document_that_was_not_taken_counts_at_take_over(world: Zookeeper) -> None:
    await world.alter({"foo-0": [6, 2, 3], "foo-1": [6, 3, 1]})
    await world.tree.multi([Create(paths.REASSIGN, b"{}")])
    await put(world.tree, paths.REASSIGN, document(foo_0=[4, 2, 3], customers_0=[1]))
    next_life = await world.survivor(world.commits)
    await end(next_life)
    assert next_life.hosts("foo-0") == {2, 3, 4}
    assert next_life.hosts("foo-1") == {1, 3, 6}
    assert held(next_life) is None
    await next_life.stop()


async def test_digests_that_are_garbage_are_written_anew(
    world: Zookeeper, caplog: pytest.LogCaptureFixture
) -> None:
    await write(world, DIGESTS, b"{garbage")
    next_life = await world.survivor(world.commits)
    await write(next_life, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    assert f"{DIGESTS} is ignored" in caplog.text
    assert paths.REASSIGN in read(next_life.tree, DIGESTS)
    await next_life.stop()
