import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from backends.memory import MemoryStore
from backends.sqlite.datadir import StoreError
from common.off_loop import WorkerThread
from controller.messages.events import CreateTopics, NewTopic
from controller.model.cluster import Job, JobKind
from controller.modes import EMBEDDED
from controller.ports import Store
from controller.state.state import State
from reassignd.config.sources import Assignment, resolve
from reassignd.runtime import embedded_cluster
from reassignd.runtime.assembly import Assembly
from reassignd.runtime.background import ProcessParts
from reassignd.runtime.embedded_cluster import ServedEmbedded
from reassignd.runtime.served_cluster import Hooks
from reassignd.runtime.storage.identity import new_id
from reassignd.runtime.storage.records import load
from server.counters import Counters
from server.driver.driver import DriverStoppedError

SMALL = {"embedded.brokers": "2", "listener": "127.0.0.1:0"}
TOPIC = CreateTopics([NewTopic("orders", bytes(16), 1, 1)])


@asynccontextmanager
async def assembled(
    store: MemoryStore,
    state: State | None = None,
    settings: Mapping[str, str] = SMALL,
    *,
    demo_topics: bool = False,
) -> AsyncIterator[Assembly]:
    """An embedded cluster, before its start; it is stopped at the end."""
    resolved = resolve(Assignment(key, value, "test") for key, value in settings.items())
    known = state or State(mode=EMBEDDED)

    def build(hooks: Hooks) -> ServedEmbedded:
        return ServedEmbedded(resolved, known, hooks, demo_topics=demo_topics)

    parts = ProcessParts(WorkerThread(), Counters())
    assembly = Assembly(resolved, known, store, new_id(), build, parts)
    yield assembly
    await assembly.stop()
    parts.off_loop.close()


async def test_the_metrics_show_an_active_controller_between_start_and_stop() -> None:
    async with assembled(MemoryStore()) as assembly:
        pages = [assembly.metrics.page()]
        await assembly.start()
        pages.append(assembly.metrics.page())
    pages.append(assembly.metrics.page())
    active = b"kafka_controller_kafkacontroller_activecontrollercount 1.0\n"
    assert [active in page for page in pages] == [False, True, False]


async def test_the_id_that_the_api_shows_is_that_of_the_cluster_whose_brokers_clients_see() -> None:
    async with assembled(MemoryStore()) as assembly:
        own = assembly.api.cluster_id()
        assembly.served.upstream_cluster_id = "kafka's"  # type: ignore[misc]
        assert (own != "kafka's", assembly.api.cluster_id()) == (True, "kafka's")
        assert assembly.api.events is not None
        assert b"kafka's" in await anext(assembly.api.events.open().frames(str))


async def loaded(store: Store) -> State:
    state = State(mode=EMBEDDED)
    await load(store, state)
    return state


async def test_the_first_start_creates_the_demo_topics() -> None:
    store = MemoryStore()
    async with assembled(store) as assembly:
        await assembly.start()
    async with assembled(store, await loaded(store), demo_topics=True) as assembly:
        await assembly.start()
        assert not assembly.state.cluster.topics
    async with assembled(MemoryStore(), demo_topics=True) as assembly:
        await assembly.start()
        assert len(assembly.state.cluster.topics) == len(embedded_cluster.TOPICS)


async def test_an_acknowledged_topic_is_there_after_a_restart() -> None:
    store = MemoryStore()
    async with assembled(store) as assembly:
        await assembly.start()
        await assembly.submit(TOPIC)
    assert "orders" in (await loaded(store)).cluster.topics


async def test_traffic_is_shown_for_every_broker() -> None:
    async with assembled(MemoryStore()) as assembly:
        await assembly.start()
        page = assembly.metrics.page().decode()
    assert 'reassignmentbytesin_total{broker="1"} 0.0' in page
    assert 'reassignmentbytesout_total{broker="2"} 0.0' in page


async def test_a_failure_of_the_store_is_reported_with_its_remedy() -> None:
    store = MemoryStore()
    async with assembled(store) as assembly:
        await assembly.start()
        store.failure = StoreError("free disk space")
        with pytest.raises(DriverStoppedError):
            await assembly.submit(TOPIC)
        assert not assembly.is_serving
        assert str((await assembly.failure).command_error()) == "free disk space"


async def test_an_unexpected_failure_is_reported_with_its_error() -> None:
    store = MemoryStore()
    async with assembled(store) as assembly:
        await assembly.start()
        store.failure = ZeroDivisionError("surprise")
        with pytest.raises(DriverStoppedError):
            await assembly.submit(TOPIC)
        text = str((await assembly.failure).command_error())
        assert text.startswith("the controller failed (ZeroDivisionError('surprise'))")


async def test_a_failure_of_the_cluster_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    async with assembled(MemoryStore()) as assembly:
        await assembly.start()
        monkeypatch.setattr(assembly.served.backend, "_tick", lambda *_: 1 / 0)
        assert (await assembly.failure).part == "the embedded cluster"
        assert not assembly.is_serving


async def test_a_store_that_fails_refuses_the_start() -> None:
    store = MemoryStore()
    store.failure = StoreError("free disk space")
    async with assembled(store) as assembly:
        with pytest.raises(DriverStoppedError):
            await assembly.start()
        assert str((await assembly.failure).command_error()) == "free disk space"


async def test_jobs_beyond_their_number_are_deleted_at_the_next_start() -> None:
    store = MemoryStore()
    await store.commit([Job(number, JobKind.PLAN, 1, "User:ann", None, ended_ms=2) for number in (1, 2, 3)])
    kept = {**SMALL, "jobs.retention.count": "1", "jobs.retention.ms": str(2**53)}
    async with assembled(store, await loaded(store), kept) as assembly:
        await assembly.start()
        async with asyncio.timeout(30):
            while 1 in assembly.state.orders.jobs:
                await asyncio.sleep(0)
        assert list(assembly.state.orders.jobs) == [2, 3]
