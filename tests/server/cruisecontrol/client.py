"""A client of Cruise Control's API, whose proposals are computed by tests."""

import asyncio
import json
from typing import Any

import httpx
from starlette.applications import Starlette

from common.clock import ManualClock
from server.api.access import Access
from server.cruisecontrol.routes import PREFIX, CruiseControl, Options
from server.cruisecontrol.shared.access import CruiseControlAccess, User
from tests.builders import InMemoryController
from tests.server.api.api_client import URL
from tests.server.api.proposal_client import LOAD, ProposalClient, answer
from tests.server.cruisecontrol.schemas import check

BROKERS = [
    {"broker": each, "rack": None, "live": True, "before": LOAD, "after": LOAD,
     "gains": 0, "losses": 0, "wanted": None}
    for each in range(1, 7)
]  # fmt: skip


class CruiseControlClient(ProposalClient):
    """Sends requests as `cccli` and Strimzi do; cookies are kept."""

    def __init__(
        self,
        controller: InMemoryController | None = None,
        users: list[User] | None = None,
        *,
        two_step: bool = False,
    ) -> None:
        super().__init__(controller)
        self.now_ms = 1_000_000
        self.answer = answer({"brokers": BROKERS}, foo_0=([1, 2, 3], [4, 2, 3]))
        access = CruiseControlAccess(Access(), None if users is None else lambda: users)
        options = Options(clock=ManualClock(), wall_clock=lambda: self.now_ms, two_step=two_step)
        self.served = CruiseControl(self.api, access, options)
        transport = httpx.ASGITransport(Starlette(routes=self.served.routes()))
        self.cruise_control = httpx.AsyncClient(transport=transport, base_url=URL)

    async def send(self, method: str, path: str, **given: Any) -> httpx.Response:
        """Send a request; `path` is the part after the prefix."""
        return await self.cruise_control.request(method, f"{PREFIX}/{path}", **given)

    async def ok(self, method: str, path: str, **given: Any) -> Any:
        """Return the JSON of an answer with status 200."""
        response = await self.send(method, path, **given)
        assert response.status_code == 200, response.text
        return response.json()

    async def checked(self, method: str, path: str) -> Any:
        """Return the JSON of an answer with status 200, after a check of its shape."""
        response = await self.send(method, path)
        assert response.status_code == 200, response.text
        return check(f"{method} {path.partition('?')[0]}", 200, response.text)

    async def error(self, method: str, path: str, **given: Any) -> tuple[int, str]:
        """Return the status and the message of a refusal."""
        response = await self.send(method, path, **given)
        body = response.json()
        assert body.keys() == {"version", "stackTrace", "errorMessage"}, body
        return response.status_code, body["errorMessage"]

    async def tasks(self, query: str = "") -> list[dict[str, Any]]:
        """Return the rows of user_tasks."""
        rows: list[dict[str, Any]] = (await self.ok("GET", f"user_tasks?{query}"))["userTasks"]
        return rows

    def never_wait(self) -> None:
        """Let computations wait for `hold`, and no request for them."""
        self.hold.clear()
        rows = self.served._endpoints.items()
        self.served._endpoints = {key: each._replace(wait_seconds=0.0) for key, each in rows}

    async def planning(self, number: int) -> None:
        """Wait until so many proposals have been begun."""
        while len(self.store.newest_first()) < number:
            await asyncio.sleep(0.01)

    def inputs_options(self) -> dict[str, Any]:
        """Return what the last computation was asked for."""
        request: dict[str, Any] = json.loads(self.inputs[-1][0])
        return request
