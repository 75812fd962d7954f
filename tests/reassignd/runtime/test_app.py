import asyncio
from collections.abc import Mapping

import pytest

from backends.datadir import StoreError
from backends.memory import MemoryStore
from controller.messages.events import CreateTopics, NewTopic
from controller.model.cluster import Job, JobKind
from controller.state.state import State
from reassignd.config.config import Assignment, resolve
from reassignd.errors import CommandError
from reassignd.runtime.app import Application
from reassignd.runtime.identity import new_id
from reassignd.runtime.records import load
from reassignd.runtime.runtimes import make_runtime
from server.driver.driver import DriverStoppedError

SMALL = {"embedded.brokers": "2", "listener": "127.0.0.1:0"}
TOPIC = CreateTopics([NewTopic("orders", bytes(16), 1, 1)])


def application(
    store: MemoryStore, state: State | None = None, settings: Mapping[str, str] = SMALL
) -> Application:
    resolved = resolve(Assignment(key, value, "test") for key, value in settings.items())
    known = state or State()
    build, _ = make_runtime(resolved, known, store)
    return Application(resolved, known, store, new_id(), build)


async def test_it_serves_inside_the_with_and_not_after() -> None:
    app = application(MemoryStore())
    pages = [app.metrics.page()]
    async with app:
        pages.append(app.metrics.page())
    pages.append(app.metrics.page())
    active = b"kafka_controller_kafkacontroller_activecontrollercount 1.0\n"
    assert [active in page for page in pages] == [False, True, False]


async def test_the_first_start_is_the_one_without_records() -> None:
    store = MemoryStore()
    async with application(store) as app:
        assert app.first_start
    async with application(store, await load(store)) as app:
        assert not app.first_start


async def test_what_was_submitted_is_there_after_a_restart() -> None:
    store = MemoryStore()
    async with application(store) as app:
        await app.submit(TOPIC)
    assert "orders" in (await load(store)).topics


async def test_traffic_is_shown_for_every_broker() -> None:
    async with application(MemoryStore()) as app:
        page = app.metrics.page().decode()
    assert 'reassignmentbytesin_total{broker="1"} 0.0' in page
    assert 'reassignmentbytesout_total{broker="2"} 0.0' in page


async def test_a_store_that_fails_ends_it_with_what_to_do() -> None:
    store = MemoryStore()
    async with application(store) as app:
        store.failure = StoreError("free disk space")
        with pytest.raises(DriverStoppedError):
            await app.submit(TOPIC)
        assert not app.serves
        with pytest.raises(CommandError, match=r"^free disk space$"):
            await app.failure


async def test_an_unexpected_failure_is_told_as_it_is() -> None:
    store = MemoryStore()
    async with application(store) as app:
        store.failure = ZeroDivisionError("surprise")
        with pytest.raises(DriverStoppedError):
            await app.submit(TOPIC)
        with pytest.raises(CommandError, match=r"the controller failed \(ZeroDivisionError\('surprise'\)\)"):
            await app.failure


async def test_a_cluster_that_fails_ends_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async with application(MemoryStore()) as app:
        monkeypatch.setattr(app.world.backend, "_tick", lambda *_: 1 / 0)
        with pytest.raises(CommandError, match="the embedded cluster failed"):
            await app.failure
        assert not app.serves


async def test_a_store_that_fails_at_the_start_refuses_to_start() -> None:
    store = MemoryStore()
    store.failure = StoreError("free disk space")
    with pytest.raises(CommandError, match="free disk space"):
        await application(store).__aenter__()


async def test_jobs_beyond_their_number_are_forgotten_at_the_next_start() -> None:
    store = MemoryStore()
    await store.commit([Job(number, JobKind.PLAN, 1, "User:ann", None, ended_ms=2) for number in (1, 2, 3)])
    kept = {**SMALL, "jobs.retention.count": "1", "jobs.retention.ms": str(2**53)}
    async with application(store, await load(store), kept) as app:
        async with asyncio.timeout(30):
            while 1 in app.state.jobs:
                await asyncio.sleep(0)
        assert list(app.state.jobs) == [2, 3]
