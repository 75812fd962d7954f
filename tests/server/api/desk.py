"""A served API over a controller in memory, and short ways to ask it."""

import json
from typing import Any

import httpx
from starlette.applications import Starlette

from common.clock import ManualClock
from common.worker_thread import WorkerThread
from controller.messages.event import AnyEvent
from controller.model.cluster import TopicPartition
from server.api.access import Access
from server.api.call import ApiServices
from server.api.progress import Progress
from server.api.routes import Api
from server.http.server import Health, operations_routes
from tests.builders import World, partition

URL = "http://127.0.0.1:9080"


class Direct:
    """A driver that decides at once."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.failure: Exception | None = None

    async def submit(self, event: AnyEvent) -> Any:
        if self.failure is not None:
            raise self.failure
        return self.world.do(event).reply


class Sizes:
    """A partition has 100 bytes and its number; `have` says how many are there of those on their way."""

    def __init__(self) -> None:
        self.have: dict[tuple[str, int], int] = {}
        self.at = 0.0
        """When that was so, in seconds."""
        self.grown = 0
        """Bytes that were produced to each partition meanwhile."""

    def size(self, key: TopicPartition) -> int | None:
        return None if key.topic == "unknown" else 100 + self.grown + key.partition

    def arrived(self, key: TopicPartition, broker: int) -> int | None:
        return self.have.get((str(key), broker))

    def received(self, key: TopicPartition) -> tuple[float, float] | None:
        have = [size for (name, _), size in self.have.items() if name == str(key)]
        return (sum(have), self.at) if have else None


class Desk:
    """Asks the API; every answer is (status, JSON)."""

    def __init__(self, world: World | None = None, access: Access | None = None, url: str = URL) -> None:
        self.world = three() if world is None else world
        self.driver = Direct(self.world)
        self.sizes = Sizes()
        self.clock = ManualClock()
        self.progress = Progress(self.world.state, self.sizes, self.clock)
        self.health = Health(None)
        self.api = Api(self.health, Access() if access is None else access)
        self.api.core = ApiServices(
            "1.2.3",
            "cluster-1",
            self.world.state,
            self.driver,
            WorkerThread(),
            self.sizes,
            self.progress,
        )
        app = Starlette(routes=[*operations_routes(self.health), *self.api.routes()])
        self._http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=url)

    async def raw(self, method: str, path: str, **given: Any) -> httpx.Response:
        return await self._http.request(method, path, headers=given.pop("headers", None), **given)

    async def ask(self, method: str, path: str, body: Any = None, **given: Any) -> tuple[int, Any]:
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        response = await self.raw(method, path, content=content, **given)
        return response.status_code, response.json()

    async def get(self, path: str, **given: Any) -> Any:
        status, answer = await self.ask("GET", path, **given)
        assert status == 200, answer
        return answer

    async def post(self, path: str, body: Any = None, **given: Any) -> Any:
        status, answer = await self.ask("POST", path, body, **given)
        assert status < 300, answer
        return answer

    async def refusal(self, method: str, path: str, body: Any = None, **given: Any) -> tuple[int, str]:
        status, answer = await self.ask(method, path, body, **given)
        assert status >= 400, answer
        text: str = answer["error"]
        assert "\n" not in text
        return status, text


def three(**limits: int) -> World:
    """Three partitions on brokers 1 to 3 of 6."""
    names = ("foo-0", "foo-1", "foo-2")
    return World().having(*(partition(name, [1, 2, 3]) for name in names)).limited(**limits)


def plan(**replicas: list[int]) -> dict[str, Any]:
    """The plan that `foo_0=[4, 5, 6]` and so on makes."""
    rows = []
    for name, brokers in replicas.items():
        topic, _, number = name.rpartition("_")
        rows.append({"topic": topic, "partition": int(number), "replicas": brokers})
    return {"version": 1, "partitions": rows}


MOVE = plan(foo_0=[4, 5, 6], foo_1=[4, 5, 6])
