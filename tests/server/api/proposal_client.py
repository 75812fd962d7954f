"""A client of the API whose proposals are computed by tests."""

import asyncio
import json
from collections.abc import AsyncIterable
from dataclasses import replace
from typing import Any

from server.api.shared.proposals import ProposalStore
from tests.builders import InMemoryController
from tests.server.api.api_client import ApiClient, plan, three_partitions

LOAD = {"replicas": 1, "leaders": 1, "bytes": 1}
FIGURES: dict[str, Any] = {
    "partitions": 1, "moves": 1, "bytes": 10, "moves_bound": 1,
    "fewest_moves_proven": True, "leader_changes": 0, "elections": 0,
    "in_sync_loss": {"partitions": 0, "keeping_others": 0}, "below_min_isr": 0,
    "bytes_bound": 10, "fewest_bytes_proven": True, "bytes_estimate": 0, "loads": [],
    "topic_excess": {"before": 0, "after": 0},
    "rack_excess": {"before": 0, "after": 0}, "left_out": [], "left_out_partitions": 0, "summary": [("moves"
        " 1 replica")],
    "brokers": [
        {"broker": 1, "rack": None, "live": True, "before": LOAD, "after": LOAD,
         "gains": 0, "losses": 0, "wanted": None}
    ],
    "forecast": None,
}  # fmt: skip


class ProposalClient(ApiClient):
    """`answer` is the answer of the computation.

    It waits while `hold` is not set; `inputs` has the lines that it has read.
    """

    def __init__(self, controller: InMemoryController | None = None) -> None:
        super().__init__(controller or three_partitions())
        self.hold = asyncio.Event()
        self.hold.set()
        self.obstacle: str | None = None
        self.now_ms = 0
        self.inputs: list[list[bytes]] = []
        self.cancelled = 0
        self.answer = answer(foo_0=([1, 2, 3], [4, 2, 3]))
        self.store = ProposalStore(self.compute, lambda: self.obstacle, lambda: self.now_ms, self.clock)
        services = self.api.services
        assert services is not None
        self.api.services = replace(services, proposals=self.store)

    async def compute(self, request: AsyncIterable[bytes]) -> bytes:
        self.inputs.append([piece async for piece in request])
        try:
            await self.hold.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return self.answer


def answer(figures: dict[str, Any] | None = None, **changes: tuple[list[int], list[int]]) -> bytes:
    """Return the answer of a computation: figures, plan and rollback; `foo_0=(before, after)` is a change."""
    result = {**FIGURES, "partitions": len(changes), **(figures or {})}
    new = plan(**{name: after for name, (_, after) in changes.items()})
    old = plan(**{name: before for name, (before, _) in changes.items()})
    return b"\n".join(json.dumps(each).encode() for each in ({"figures": result}, new, old)) + b"\n"
