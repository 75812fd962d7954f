"""Conversion of plans for the controller."""

from typing import Any

import pytest

from controller.model.plan import read_plan
from server.api.shared.plans import originals, plan_rows, topic_hint, topics_of
from tests.builders import InMemoryController, partition
from tests.server.api.api_client import MOVE, ApiClient, plan, three_partitions


def test_adjacent_entries_of_a_topic_form_a_group() -> None:
    [topic] = topics_of(read_plan(MOVE))
    assert (topic.topic, [row.partition for row in topic.rows or ()]) == ("foo", [0, 1])


def test_the_rollback_plan_of_a_moving_partition_has_its_originals() -> None:
    controller = three_partitions()
    controller.alter({"foo-0": [4, 5, 6]})
    rows = list(plan_rows(originals(controller.state, read_plan(MOVE))))
    assert [row.replicas for row in rows] == [(1, 2, 3), (1, 2, 3)]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ordres", " Did you mean orders?"),
        ("orders", ""),
        ("payments", ""),
        ("", ""),
        ("oders", " Did you mean orders?"),
    ],
)
def test_a_similar_topic_is_named(name: str, hint: str) -> None:
    controller = InMemoryController().with_partitions(partition("orders-0", [1]), partition("clicks-0", [1]))
    assert topic_hint(controller.state, name) == hint


async def test_an_unknown_topic_of_a_plan_or_a_cancel_is_named_with_a_similar_one() -> None:
    client = ApiClient(InMemoryController().with_partitions(partition("orders-0", [1])))
    _, text = await client.refusal("POST", "/v1/jobs", plan(ordres_0=[2]))
    assert text.endswith("Did you mean orders?")
    _, text = await client.refusal("POST", "/v1/reassignments/cancel", {"topic": "order"})
    assert text.endswith("Did you mean orders?")


async def test_a_similar_limit_is_named() -> None:
    assert await ApiClient().refusal("PUT", "/v1/limits", {"throtle": 5}) == (
        400,
        'unknown limit "throtle"; did you mean throttle?',
    )


TWO = {"/a": ["foo-0"], "/b": []}
MOVES = "kafka-reassign-partitions moves replicas between directories"


def saved(*log_dirs: str) -> Any:
    """The plan that leaves foo-0 on its brokers 1, 2 and 3, with these directories."""
    value = plan(foo_0=[1, 2, 3])
    value["partitions"][0]["log_dirs"] = list(log_dirs)
    return value


async def test_a_directory_in_which_the_replica_is_is_accepted() -> None:
    client = ApiClient()
    client.sizes.log_dirs = {1: TWO, 2: TWO, 3: TWO}
    assert (await client.post("/v1/jobs", saved("/a", "any", "/a")))["unchanged"] == 1


async def test_the_only_directory_of_a_broker_is_accepted_for_a_new_replica() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", plan(foo_0=[4, 5, 6]))
    client.controller.settle()
    client.sizes.log_dirs = {broker: {"/a": []} for broker in (1, 2, 3)}
    assert (await client.post("/v1/jobs", saved("/a", "/a", "/a")))["accepted"] == 1


@pytest.mark.parametrize("unusable", ["failed", "cordoned"])
async def test_a_directory_that_the_broker_would_not_choose_is_none_for_a_new_replica(unusable: str) -> None:
    client = ApiClient()
    await client.post("/v1/jobs", plan(foo_0=[4, 5, 6]))
    client.controller.settle()
    client.sizes.log_dirs = {broker: {"/a": [], "/b": []} for broker in (1, 2, 3)}
    setattr(client.sizes, unusable, {"/b"})
    status, text = await client.refusal("POST", "/v1/jobs", saved("/a", "/b", "/a"))
    fault = 'but broker 2 chooses the directory of a new replica, one of "/a": expected "any"'
    assert (status, text) == (422, f'partitions[0] (foo-0): log_dirs[1] is "/b", {fault}')
    assert (await client.post("/v1/jobs", saved("/a", "any", "/a")))["accepted"] == 1


async def test_a_replica_is_still_in_its_cordoned_directory() -> None:
    client = ApiClient()
    client.sizes.log_dirs, client.sizes.cordoned = {1: TWO}, {"/a"}
    assert (await client.post("/v1/jobs", saved("/a", "any", "any")))["unchanged"] == 1


@pytest.mark.parametrize(
    ("dirs", "fault"),
    [
        (
            {"/a": ["foo-0"], "/b": []},
            f'but the replica on broker 2 is in "/a": expected "any"; {MOVES}',
        ),
        (
            {"/a": [], "/b": []},
            'but broker 2 chooses the directory of a new replica, one of "/a", "/b": expected "any"',
        ),
        (None, 'and broker 2 does not report its directories: expected "any"'),
    ],
)
async def test_an_entry_with_another_directory_is_named(dirs: Any, fault: str) -> None:
    client = ApiClient()
    if dirs is not None:
        client.sizes.log_dirs = {2: dirs}
    status, text = await client.refusal("POST", "/v1/jobs", saved("any", "/b", "any"))
    assert (status, text) == (422, f'partitions[0] (foo-0): log_dirs[1] is "/b", {fault}')
    assert client.controller.state.orders.jobs == {}
