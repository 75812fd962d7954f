"""How old the numbers of brokers and topics are."""

import asyncio

import pytest

from common.clock import ManualClock
from server.api.shared.inventory import MAX_SECONDS, SMALL, Inventories
from tests.builders import InMemoryController, partition
from tests.server.api.api_client import Sizes


def counting(partitions: int, clock: ManualClock) -> Inventories:
    rows = (partition(f"foo-{number}", [1, 2]) for number in range(partitions))
    state = InMemoryController().with_partitions(*rows).state
    return Inventories(state, Sizes(), lambda: None, clock=clock)


async def test_one_that_is_at_hand_is_renewed_while_it_is_used() -> None:
    clock = ManualClock()
    inventories = counting(SMALL + 1, clock)
    first = await inventories.at_hand()
    await clock.advance(MAX_SECONDS)
    assert await inventories.at_hand() is first
    async with asyncio.timeout(10):
        while await inventories.at_hand() is first:
            await asyncio.sleep(0)
    assert await inventories.recent() is await inventories.at_hand()


@pytest.mark.parametrize("partitions", [1, SMALL])
async def test_that_of_a_small_cluster_is_always_new(partitions: int) -> None:
    inventories = counting(partitions, ManualClock())
    assert await inventories.at_hand() is not await inventories.at_hand()
