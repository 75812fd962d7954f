"""The cache of encoded answers, valid until their data changes."""

import asyncio
import inspect
from collections.abc import Iterable, Iterator
from unittest.mock import patch

import pytest

from common.off_loop import WorkerThread
from controller.model.cluster import Deleted, Reassignment, Topic
from protocol.codec.wire import codec
from protocol.listing import EncodedTopic, Lists, encode_topic
from protocol.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
)
from protocol.messages.update_metadata_response import UpdateMetadataResponse
from server.dispatch.cache import BodyCache, Encoded, KeptListing
from server.handlers.list_partition_reassignments import _response
from tests.builders import InMemoryController, key, partition


class Rig:
    """A cache, and an answer that counts its builds."""

    def __init__(self) -> None:
        self.built = 0
        self.failure: Exception | None = None
        self.cache = BodyCache(WorkerThread())

    def build(self) -> UpdateMetadataResponse:
        if self.failure is not None:
            raise self.failure
        self.built += 1
        return UpdateMetadataResponse(self.built)

    async def get(self, revision: int, *, version: int = 0, large: bool = False) -> bytes:
        answer = self.cache.get("answer", revision, version, self.build, large=large)
        return (answer if isinstance(answer, Encoded) else await answer).body


@pytest.fixture
def rig() -> Rig:
    return Rig()


@pytest.mark.parametrize("large", [False, True])
async def test_an_answer_is_built_once_per_revision(rig: Rig, large: bool) -> None:
    assert await rig.get(7, large=large) == await rig.get(7, large=large) == b"\0\1"
    assert await rig.get(8, large=large) == b"\0\2"


async def test_each_version_has_its_own_answer(rig: Rig) -> None:
    assert await rig.get(7, version=0) == b"\0\1"
    assert await rig.get(7, version=6) == b"\0\2\0"


async def test_concurrent_requests_share_one_large_answer(rig: Rig) -> None:
    answers = await asyncio.gather(*(rig.get(7, large=True) for _ in range(5)))
    assert answers == [b"\0\1"] * 5
    assert rig.built == 1


async def test_a_cancelled_request_does_not_cancel_the_shared_answer(rig: Rig) -> None:
    first, second = (asyncio.create_task(rig.get(7, large=True)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == b"\0\1"


async def test_a_newer_revision_does_not_wait_for_the_older_one(rig: Rig) -> None:
    older = rig.cache.get("answer", 7, 0, rig.build, large=True)
    newer = rig.cache.get("answer", 8, 0, rig.build, large=True)
    assert inspect.isawaitable(older)
    assert inspect.isawaitable(newer)
    assert [(await older).body, (await newer).body] == [b"\0\1", b"\0\2"]


@pytest.mark.parametrize("large", [False, True])
async def test_a_failure_is_not_kept(rig: Rig, large: bool) -> None:
    rig.failure = ValueError("no")
    with pytest.raises(ValueError, match="no"):
        await rig.get(7, large=large)
    rig.failure = None
    assert await rig.get(7, large=large) == b"\0\1"


@pytest.fixture
def controller() -> InMemoryController:
    names = [f"{topic}-{number}" for topic in ("a", "b", "c") for number in range(4)]
    return InMemoryController().with_partitions(*(partition(name, (1, 2)) for name in names))


@pytest.fixture
def encoded() -> Iterator[list[str]]:
    """The topics that are encoded during a test."""
    names: list[str] = []

    def noted(name: str, rows: Iterable[tuple[int, Lists]]) -> EncodedTopic:
        names.append(name)
        return encode_topic(name, rows)

    with patch("server.dispatch.cache.encode_topic", noted):
        yield names


def listed(kept: KeptListing, controller: InMemoryController) -> list[str]:
    """Return the names in the list, and check that it is the list that is made without kept topics."""
    body = kept.build(controller.state).body
    answer = codec(ListPartitionReassignmentsResponse, 0).decode(body)
    whole = codec(ListPartitionReassignmentsResponse, 0)
    again = whole.decode(whole.encode(_response(controller.state, dict.fromkeys("abc"))))
    assert {topic.name: topic for topic in answer.topics} == {topic.name: topic for topic in again.topics}
    assert {each.name: each for each in answer.current_batch or ()} == {
        each.name: each for each in again.current_batch or ()
    }
    return [f"{topic.name}-{row.partition_index}" for topic in answer.topics for row in topic.partitions]


def test_only_topics_that_have_changed_are_encoded_again(
    controller: InMemoryController, encoded: list[str]
) -> None:
    kept = KeptListing()
    controller.alter({"b-1": (1, 3), "a-0": (1, 3), "a-2": (1, 3)})
    assert listed(kept, controller) == ["b-1", "a-0", "a-2"]
    encoded.clear()
    assert listed(kept, controller) == ["b-1", "a-0", "a-2"]
    assert encoded == []
    controller.isr("a-0", (1, 2, 3))
    assert listed(kept, controller) == ["b-1", "a-2"]
    assert encoded == ["a"]


def test_rows_are_in_order_of_partitions(controller: InMemoryController) -> None:
    kept = KeptListing()
    controller.alter({"a-3": (1, 3)})
    controller.alter({"a-0": (1, 3)})
    assert listed(kept, controller) == ["a-0", "a-3"]


@pytest.mark.parametrize("started", [True, False])
def test_every_change_of_a_reassignment_is_shown(controller: InMemoryController, started: bool) -> None:
    kept = KeptListing()
    if not started:
        controller.with_limits(partitions=1).alter({"c-0": (1, 4)})
    controller.alter({"a-0": (1, 3), "b-0": (1, 3)})
    assert "a-0" in listed(kept, controller)
    controller.alter({"a-0": (1, 5)})
    assert "a-0" in listed(kept, controller)
    controller.alter({"a-0": None})
    assert "a-0" not in listed(kept, controller)


def test_moves_of_other_clients_are_shown_while_they_last(controller: InMemoryController) -> None:
    kept = KeptListing()
    moving = partition("a-1", (1, 2, 3), isr=(1, 2), adding=(3,))
    controller.put(moving)
    controller.state.gateway.add_external(moving.key)
    assert listed(kept, controller) == ["a-1"]
    controller.state.gateway.discard_external(moving.key)
    assert kept.build(controller.state).body == KeptListing().build(controller.state).body


def test_a_deleted_topic_is_not_kept(controller: InMemoryController) -> None:
    kept = KeptListing()
    controller.alter({"a-0": (1, 3), "b-0": (1, 3)})
    assert listed(kept, controller) == ["a-0", "b-0"]
    controller.state.delete(Deleted(Reassignment, key("a-0")))
    controller.state.delete(Deleted(Topic, "a"))
    assert listed(kept, controller) == ["b-0"]
    assert "a" not in controller.state.listing.by_topic
