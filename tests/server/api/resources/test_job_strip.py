"""`/v1/jobs/{job}/strip`."""

from controller.model.cluster import TopicPartition
from controller.views.jobs import PartState, part_refs, part_states
from tests.builders import InMemoryController, partition
from tests.server.api.api_client import MOVE, ApiClient


async def test_each_partition_has_a_cell_while_there_is_room() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    assert await client.get("/v1/jobs/1/strip") == {
        "total": 2,
        "per_cell": 1,
        "states": ["moving"],
        "cells": [
            {"topic": "foo", "partition": 0, "broker": None, "counts": [1]},
            {"topic": "foo", "partition": 1, "broker": None, "counts": [1]},
        ],
    }


async def test_many_partitions_share_cells_in_the_order_of_their_names() -> None:
    cluster = InMemoryController().with_partitions(*(partition(f"foo-{n}", [1, 2, 3]) for n in range(25)))
    cluster.with_limits(partitions=1).alter({f"foo-{n}": [4, 2, 3] for n in range(25)})
    answer = await ApiClient(cluster).get("/v1/jobs/1/strip?cells=6")
    assert (answer["total"], answer["per_cell"], answer["states"]) == (25, 5, ["moving", "queued"])
    assert [each["partition"] for each in answer["cells"]] == [0, 5, 10, 15, 20]
    assert [sum(each["counts"]) for each in answer["cells"]] == [5] * 5
    assert sum(each["counts"][0] for each in answer["cells"]) == 1


async def test_a_job_without_partitions_has_no_cells() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    client.controller.state.orders.reassignments.clear()
    assert (await client.get("/v1/jobs/1/strip"))["cells"] == []


async def test_the_number_of_cells_is_bounded() -> None:
    client = ApiClient()
    assert (await client.refusal("GET", "/v1/jobs/1/strip?cells=1001"))[0] == 400
    assert (await client.refusal("GET", "/v1/jobs/1/strip"))[0] == 404


async def test_a_partition_has_one_state_whatever_it_has_been() -> None:
    cluster = InMemoryController().with_partitions(*(partition(f"foo-{n}", [1, 2, 3]) for n in range(5)))
    cluster.stop(6)
    cluster.alter({"foo-0": [4, 2, 3]})
    cluster.settle()
    cluster.with_limits(partitions=1).alter(
        {"foo-1": [4, 2, 3], "foo-2": [5, 2, 3], "foo-3": [6, 2, 3], "foo-4": [4, 2, 3]}
    )
    cluster.alter({"foo-4": None})
    states = dict[TopicPartition, PartState]()
    for number in cluster.state.orders.jobs:
        for piece in part_states(cluster.state, number):
            states.update(piece)
        listed = {ref.key: ref.state for ref in part_refs(cluster.state, number) if ref is not None}
        assert {key: states[key] for key in listed} == listed
    assert [states[key].value for key in sorted(states)] == [
        "done",
        "moving",
        "queued",
        "waiting",
        "rolled back",
    ]
