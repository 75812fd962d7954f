"""A client of the API of a controller in memory."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import httpx
from starlette.applications import Starlette

from common.clock import ManualClock
from common.off_loop import WorkerThread
from controller.messages.event import AnyEvent
from controller.messages.events import AlterReassignments
from controller.model.cluster import TopicPartition
from controller.model.replicas import StoredReplicas
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from server.api.access import Access
from server.api.routes import Api
from server.api.shared.call import ApiServices
from server.http.server import Health, operations_routes
from server.progress.counts import JobCounts
from server.progress.progress import Progress
from tests.builders import InMemoryController, key, partition

URL = "http://127.0.0.1:9080"


class ImmediateDriver:
    """A driver that decides at once and stores nothing."""

    def __init__(self, controller: InMemoryController) -> None:
        self.controller = controller
        self.failure: Exception | None = None
        self.refuse_orders = False
        """Refuse orders of targets, as a request that came too late."""
        self.events: list[AnyEvent] = []

    async def submit(self, event: AnyEvent) -> Any:
        self.events.append(event)
        if self.failure is not None:
            raise self.failure
        if self.refuse_orders and isinstance(event, AlterReassignments):
            event = replace(event, deadline_ms=0)
        return self.controller.do(event).reply


class Sizes:
    """Partition n has 100 + n bytes.

    `received_bytes` are those of adding replicas, by partition and broker. They are measured at each moment
    of the clock.
    """

    def __init__(self, clock: ManualClock | None = None) -> None:
        self.measured: Callable[[], float | None] = (clock or ManualClock()).now
        self.received_bytes: dict[tuple[str, int], int] = {}
        self.stored_replicas: dict[str, StoredReplicas] = {}
        self.measured_at = 0.0
        """Time of that measurement, in seconds."""
        self.log_dirs: dict[int, dict[str, list[str]]] = {}
        """The partitions with a replica in each directory, by broker and path."""
        self.failed: set[str] = set()
        """Failed directories of every broker."""
        self.cordoned: set[str] = set()
        """Cordoned directories of every broker."""
        self.produced = 0
        """Bytes produced to each partition since the start."""
        self.unknown = {"unknown"}
        """Topics of unknown size."""

    def size(self, key: TopicPartition) -> int | None:
        return None if key.topic in self.unknown else 100 + self.produced + key.partition

    def stored(self, key: TopicPartition) -> StoredReplicas | None:
        return self.stored_replicas.get(str(key))

    def arrived(self, key: TopicPartition, broker: int) -> int | None:
        return self.received_bytes.get((str(key), broker))

    def received(self, key: TopicPartition) -> tuple[float, float] | None:
        have = [size for (name, _), size in self.received_bytes.items() if name == str(key)]
        return (sum(have), self.measured_at) if have else None

    async def describe(self, broker: int, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse | None:
        """Return the directories in `log_dirs`; a broker that it lacks does not answer."""
        asked = {
            TopicPartition(each.topic, number) for each in request.topics or () for number in each.partitions
        }
        dirs = self.log_dirs.get(broker)
        if dirs is None:
            return None
        rows = [
            DescribeLogDirsResult(56, row.log_dir) if row.log_dir in self.failed else row
            for row in described(dirs, asked).results
        ]
        return DescribeLogDirsResponse(
            results=[row._replace(is_cordoned=row.log_dir in self.cordoned) for row in rows]
        )


def described(
    dirs: Mapping[str, Sequence[str]], asked: Collection[TopicPartition]
) -> DescribeLogDirsResponse:
    """Return an answer with these directories, and those of the partitions in them that were asked for."""
    rows = []
    for path, names in dirs.items():
        present = [each for each in map(key, names) if each in asked]
        topics = [
            DescribeLogDirsTopic(
                each.topic, [DescribeLogDirsPartition(each.partition, 100, 0, is_future_key=False)]
            )
            for each in present
        ]
        rows.append(DescribeLogDirsResult(0, path, topics))
    return DescribeLogDirsResponse(results=rows)


class ApiClient:
    """Sends requests to the API. An answer is the status and the JSON."""

    def __init__(
        self, controller: InMemoryController | None = None, access: Access | None = None, url: str = URL
    ) -> None:
        self.controller = three_partitions() if controller is None else controller
        self.driver = ImmediateDriver(self.controller)
        self.clock = ManualClock()
        self.sizes = Sizes(self.clock)
        self.progress = Progress(self.controller.state, self.sizes, self.clock)
        self.health = Health(None)
        self.hidden_brokers: set[int] = set()
        self.refreshed: list[Collection[str] | None] = []
        """What the API has asked the cluster for."""
        self.on_refresh: Callable[[], str] = str
        """Called then; returns why the cluster cannot be asked."""
        self.api = Api(self.health, Access() if access is None else access)
        self.api.services = ApiServices(
            version="1.2.3",
            cluster_id=lambda: "cluster-1",
            state=self.controller.state,
            driver=self.driver,
            off_loop=WorkerThread(),
            sizes=self.sizes,
            progress=self.progress,
            counts=JobCounts(self.controller.state, self.clock),
            hidden_brokers=lambda: self.hidden_brokers,
            refresh=self.refresh,
        )
        app = Starlette(routes=[*operations_routes(self.health), *self.api.routes()])
        self._http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=url)

    async def refresh(self, topics: Collection[str] | None) -> str:
        self.refreshed.append(topics)
        return self.on_refresh()

    def serve(self, **services: Any) -> None:
        """Replace services of the API."""
        assert self.api.services is not None
        self.api.services = replace(self.api.services, **services)

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


def three_partitions(**limits: int) -> InMemoryController:
    """Three partitions on brokers 1 to 3 of 6."""
    names = ("foo-0", "foo-1", "foo-2")
    return (
        InMemoryController()
        .with_partitions(*(partition(name, [1, 2, 3]) for name in names))
        .with_limits(**limits)
    )


def plan(**replicas: list[int]) -> dict[str, Any]:
    """Return a plan; `foo_0=[4, 5, 6]` is the entry of foo-0."""
    rows = []
    for name, brokers in replicas.items():
        topic, _, number = name.rpartition("_")
        rows.append({"topic": topic, "partition": int(number), "replicas": brokers})
    return {"version": 1, "partitions": rows}


MOVE = plan(foo_0=[4, 5, 6], foo_1=[4, 5, 6])
