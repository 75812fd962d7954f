"""Reassignments ordered by znode in an embedded cluster (KIP-236, KIP-455)."""

from collections.abc import AsyncIterator, Sequence
from functools import partial

import pytest

from backends.zookeeper.admin import watcher
from backends.zookeeper.admin.orders import Entry, encode_plan, fitting
from backends.zookeeper.admin.watcher import DIGESTS, PlanFormat
from backends.zookeeper.session.tree import Create, Delete, Operation
from backends.zookeeper.znodes import paths
from common.clock import settle
from tests.backends.zookeeper.harness import ZookeeperHarness
from tests.backends.zookeeper.orders_by_znode import (
    document,
    end,
    held,
    one_at_a_time,
    originals,
    write,
)
from tests.backends.zookeeper.trees import read_json, write_json

THREE = {"foo-0": [1, 2, 3], "foo-1": [2, 3, 1], "foo-2": [3, 1, 2]}


@pytest.fixture
async def harness() -> AsyncIterator[ZookeeperHarness]:
    harness = await ZookeeperHarness().start()
    await harness.having(THREE)
    yield harness
    await harness.stop()


async def test_a_plan_is_carried_out_and_deleted(harness: ZookeeperHarness) -> None:
    await write(harness, paths.REASSIGN, document(foo_0=[4, 5, 6], foo_1=[2, 3, 1]))
    assert held(harness) == {"foo-0": (4, 5, 6)}
    await end(harness)
    assert held(harness) is None
    assert harness.hosts("foo-0") == {4, 5, 6}


async def test_entries_are_removed_when_they_end(harness: ZookeeperHarness) -> None:
    await one_at_a_time(harness)
    await write(harness, paths.REASSIGN, document(foo_0=[4, 2, 3], foo_1=[5, 3, 1]))
    assert set(held(harness) or ()) == {"foo-0", "foo-1"}
    await harness.until(lambda: set(held(harness) or ()) == {"foo-1"})
    await end(harness)
    assert held(harness) is None


async def test_invalid_entries_are_removed_and_the_others_are_carried_out(
    harness: ZookeeperHarness, caplog: pytest.LogCaptureFixture
) -> None:
    await write(
        harness, paths.REASSIGN, document(foo_0=[], foo_1=[4, 3, 1], foo_2=[99], foo_7=[1], bar_0=[1])
    )
    assert set(held(harness) or ()) == {"foo-1"}
    assert (
        "foo-0 is not reassigned: The manual partition assignment includes an empty replica list."
        in caplog.text
    )
    assert "foo-2 is not reassigned: The manual partition assignment includes broker 99" in caplog.text
    assert "bar-0 is not reassigned" in caplog.text
    await end(harness)
    assert harness.hosts("foo-0") == {1, 2, 3}


async def test_a_plan_of_many_invalid_entries_logs_a_few_lines(
    harness: ZookeeperHarness, caplog: pytest.LogCaptureFixture
) -> None:
    await write(harness, paths.REASSIGN, document(**{f"none_{n}": [1, 2, 3, 4, 5, 6] for n in range(13_000)}))
    assert held(harness) is None
    assert "rejected 12,980 more rows" in caplog.text
    assert len(caplog.records) < 30


async def test_a_plan_without_valid_entries_is_deleted(harness: ZookeeperHarness) -> None:
    await write(harness, paths.REASSIGN, document(foo_0=[]))
    assert held(harness) is None


async def test_a_plan_that_overwrites_a_pending_one_is_ignored(
    harness: ZookeeperHarness, caplog: pytest.LogCaptureFixture
) -> None:
    await write(harness, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    await write(harness, paths.REASSIGN, document(foo_1=[5, 3, 1]))
    assert set(held(harness) or ()) == {"foo-0"}
    assert "was overwritten while its plan was carried out: ignored" in caplog.text
    await end(harness)
    assert harness.hosts("foo-1") == {1, 2, 3}


async def test_a_deleted_plan_with_pending_entries_is_written_again(
    harness: ZookeeperHarness, caplog: pytest.LogCaptureFixture
) -> None:
    await write(harness, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    await harness.tree.multi([Delete(paths.REASSIGN)])
    await settle(200)
    assert set(held(harness) or ()) == {"foo-0"}
    assert "was deleted before its plan ended; it is written again" in caplog.text


@pytest.mark.parametrize("value", [b"{garbage", b"", {"partitions": 7}, [], b"\xff" * 1000, b"[" * 900_000])
async def test_an_invalid_plan_is_left_unchanged_until_it_is_corrected(
    harness: ZookeeperHarness, value: object, caplog: pytest.LogCaptureFixture
) -> None:
    await write(harness, paths.REASSIGN, value)
    await harness.alter({"foo-1": [4, 3, 1]})
    await end(harness)
    assert caplog.text.count(f"{paths.REASSIGN} is ignored and left unchanged") == 1
    await write(harness, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    await end(harness)
    assert harness.hosts("foo-0") == {2, 3, 4}
    assert held(harness) is None


async def test_an_alter_request_removes_its_partition_from_the_plan(harness: ZookeeperHarness) -> None:
    await write(harness, paths.REASSIGN, document(foo_0=[4, 2, 3], foo_1=[5, 3, 1]))
    await harness.alter({"foo-0": [6, 2, 3], "foo-1": None})
    await settle(200)
    assert held(harness) is None
    await end(harness)
    assert harness.hosts("foo-0") == {2, 3, 6}


async def test_a_plan_replaces_an_earlier_alter_request(harness: ZookeeperHarness) -> None:
    await harness.alter({"foo-0": [6, 2, 3]})
    await write(harness, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    assert held(harness) == {"foo-0": (4, 2, 3)}
    await end(harness)
    assert harness.hosts("foo-0") == {2, 3, 4}


async def test_an_entry_that_a_client_ordered_before_stays_in_the_plan_until_it_ends(
    harness: ZookeeperHarness,
) -> None:
    await harness.alter({"foo-0": [4, 2, 3]})
    await write(harness, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    next_controller = await harness.survivor(harness.commits)
    await settle(200)
    for each in (harness, next_controller):
        assert held(each) == {"foo-0": (4, 2, 3)}
    await end(next_controller)
    assert held(next_controller) is None
    await next_controller.stop()


async def test_a_deleted_topic_is_removed_from_the_plan(harness: ZookeeperHarness) -> None:
    await harness.having({"bar-0": [1, 2]})
    await write(harness, paths.REASSIGN, document(foo_0=[4, 2, 3], bar_0=[3, 4]))
    await write(harness, paths.delete_topic("bar"))
    await end(harness)
    assert held(harness) is None
    assert "bar" not in harness.state.cluster.topics


async def test_a_plain_plan_can_be_cancelled(harness: ZookeeperHarness) -> None:
    """Kafka's tools and brokers reject a plan with unknown keys."""
    await write(harness, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    assert read_json(harness.tree, paths.REASSIGN) == document(foo_0=[4, 2, 3])
    await write(harness, paths.CANCEL)
    await end(harness)
    assert harness["foo-0"].replicas == (1, 2, 3)


async def test_a_plan_contains_originals_if_configured() -> None:
    harness = await ZookeeperHarness(form=PlanFormat(plain=False)).start()
    await harness.having(THREE)
    await write(harness, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    assert originals(harness) == {"foo-0": (1, 2, 3)}
    await write(harness, paths.CANCEL)
    await end(harness)
    assert harness["foo-0"].replicas == (1, 2, 3)
    await harness.stop()


@pytest.mark.parametrize("after", [True, False])
async def test_a_plan_continues_after_a_change_of_its_format(after: bool) -> None:
    harness = await ZookeeperHarness(form=PlanFormat(plain=not after)).start()
    await harness.having(THREE)
    await write(harness, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    harness.form = PlanFormat(plain=after)
    next_controller = await harness.survivor(harness.commits)
    await settle(200)
    assert originals(next_controller) == {"foo-0": None if after else (1, 2, 3)}
    assert len(next_controller.state.orders.jobs) == 1
    await write(next_controller, paths.CANCEL)
    await end(next_controller)
    assert next_controller["foo-0"].replicas == (1, 2, 3)
    for each in (harness, next_controller):
        await each.stop()


async def test_an_entry_stays_until_the_topics_znode_shows_the_result(harness: ZookeeperHarness) -> None:
    """Kafka's tools report a partition that is neither in the plan nor at its target as failed."""
    await write(harness, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    seen: set[tuple[bool, bool]] = set()
    multi = harness.tree.multi

    async def slowly(operations: Sequence[Operation]) -> None:
        if any(each.path == paths.topic("foo") for each in operations):
            harness.zk_store.on_written()  # As when another commit ends.
            await settle(50)
        await multi(operations)
        at_target = read_json(harness.tree, paths.topic("foo"))["partitions"]["0"] == [4, 2, 3]
        seen.add((held(harness) is None, at_target))

    harness.tree.multi = slowly  # type: ignore[method-assign]
    await end(harness)
    assert (True, True) in seen
    assert (True, False) not in seen


async def test_entries_that_do_not_fit_into_the_znode_are_carried_out_and_cancelled(
    harness: ZookeeperHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = len(encode_plan([Entry("foo", 0, (4, 5, 6))]))
    monkeypatch.setattr(watcher, "fitting", partial(fitting, limit=one + 1))
    await write(harness, paths.REASSIGN, document(foo_0=[4, 5, 6], foo_1=[5, 3, 1], foo_2=[6, 1, 2]))
    assert held(harness) == {"foo-0": (4, 5, 6)}
    next_controller = await harness.survivor(harness.commits)
    await end(next_controller)
    assert (next_controller.hosts("foo-2"), held(next_controller)) == ({1, 2, 6}, None)
    await next_controller.stop()
    await write(harness, paths.CANCEL)
    await end(harness)
    assert [harness[name].replicas for name in THREE] == [tuple(each) for each in THREE.values()]


async def test_the_next_controller_continues_a_plan(harness: ZookeeperHarness) -> None:
    await one_at_a_time(harness)
    await write(harness, paths.REASSIGN, document(foo_0=[4, 2, 3], foo_1=[5, 3, 1]))
    await harness.alter({"foo-1": None})
    await settle(200)
    next_controller = await harness.survivor(harness.commits)
    await settle(200)
    assert set(held(next_controller) or ()) == {"foo-0"}
    await end(next_controller)
    assert held(next_controller) is None
    assert next_controller.hosts("foo-1") == {1, 2, 3}
    await next_controller.stop()


async def test_the_next_controller_accepts_an_unaccepted_plan(harness: ZookeeperHarness) -> None:
    await harness.alter({"foo-0": [6, 2, 3], "foo-1": [6, 3, 1]})
    await harness.tree.multi([Create(paths.REASSIGN, b"{}")])
    await write_json(harness.tree, paths.REASSIGN, document(foo_0=[4, 2, 3], customers_0=[1]))
    next_controller = await harness.survivor(harness.commits)
    await end(next_controller)
    assert next_controller.hosts("foo-0") == {2, 3, 4}
    assert next_controller.hosts("foo-1") == {1, 3, 6}
    assert held(next_controller) is None
    await next_controller.stop()


async def test_invalid_digests_are_overwritten(
    harness: ZookeeperHarness, caplog: pytest.LogCaptureFixture
) -> None:
    await write(harness, DIGESTS, b"{garbage")
    next_controller = await harness.survivor(harness.commits)
    await write(next_controller, paths.REASSIGN, document(foo_0=[4, 2, 3]))
    assert f"{DIGESTS} is ignored" in caplog.text
    assert paths.REASSIGN in read_json(next_controller.tree, DIGESTS)
    await next_controller.stop()
