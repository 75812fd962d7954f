"""The verb `serve`: from settings to an exit, with all that a process has and a library must not touch.

HTTP comes first and goes last, so that `/readyz` can say what is being waited for.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, closing

import uvloop
from starlette.routing import BaseRoute

from backends.sqlite.store import SqliteStore
from common.address import Address
from common.garbage_collector import Sweeper, collect_young_only
from common.tasks import cancel, spawn
from reassignd import logs
from reassignd.config.config import EMBEDDED, ZOOKEEPER, Settings
from reassignd.config.setting_types import SocketPath
from reassignd.demo import create_demo_topics
from reassignd.runtime.app import Application
from reassignd.runtime.descriptors import share
from reassignd.runtime.http_access import HttpAccess, http_access
from reassignd.runtime.identity import claim, cluster_id
from reassignd.runtime.listener_security import warn_of_plain_text
from reassignd.runtime.records import load, open_store
from reassignd.runtime.runtimes import make_runtime
from reassignd.runtime.sockets import bind, bind_path
from reassignd.runtime.watchdog import Farewell
from reassignd.signals import until_signalled
from server.api.call import ApiServices
from server.api.routes import Api
from server.driver.driver import DriverStoppedError
from server.http.connection import Bounds
from server.http.server import Health, HttpServer, operations_routes, root_routes
from server.metrics.exposition import Metrics

STOP_SECONDS = 4.0
"""A supervisor is promised five."""


def run(settings: Settings, *, demo_topics: bool) -> None:
    """Serve until a signal. Raises CommandError when that is not possible, or ends for another reason."""
    logs.configure(settings.log_format, settings.log_level)
    entrance = http_access(settings)
    warn_of_plain_text(settings)
    collect_young_only()
    settings = share(settings)
    if settings.backend == ZOOKEEPER:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            farewell = Farewell()
            serving = _swept(_control(settings, entrance, farewell))
            runner.run(until_signalled(serving, STOP_SECONDS, farewell))
        return
    with (
        closing(open_store(settings.data_dir)) as store,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        serving = _swept(_serve(settings, store, entrance, demo_topics))
        runner.run(until_signalled(serving, STOP_SECONDS))


async def _swept(serving: Coroutine[None, None, None]) -> None:
    """Serve, and collect old garbage meanwhile."""
    sweeping = spawn(Sweeper().run(), "the collector of garbage")
    try:
        await serving
    finally:
        await cancel(sweeping)


async def _serve(settings: Settings, store: SqliteStore, entrance: HttpAccess, demo_topics: bool) -> None:
    health = Health("records are being loaded")
    identity = cluster_id(settings.data_dir)
    claim(settings.data_dir, "backend", settings.backend)
    api = Api(health, entrance.access)
    routes = [*operations_routes(health), *api.routes()]
    async with _http(settings, [*root_routes(routes), *routes], entrance) as http:
        state = await load(store)
        build, records = make_runtime(settings, state, store)

        def waits(what: str) -> None:
            health.obstacle = what

        async with Application(settings, state, records, identity, build, waits) as app:
            if demo_topics and app.first_start and settings.backend == EMBEDDED:
                await _create_topics(app, settings)
            api.core, health.metrics, health.obstacle = app.core, app.metrics.page, None
            places = ",".join(map(str, app.addresses))
            print(
                f"ready: {app.world.kind} {places}, http {http}, data in {settings.data_dir.absolute()}",
                flush=True,
            )
            try:
                await app.failure
            finally:
                health.obstacle = "the server is stopping"


async def _control(settings: Settings, entrance: HttpAccess, farewell: Farewell) -> None:
    """Serve as the controller of a ZooKeeper-mode cluster, whenever we are it."""
    from reassignd.runtime.zookeeper import STAND_BY, Controller

    health = Health("ZooKeeper is asked")
    api = Api(health, entrance.access)
    routes = [*operations_routes(health), *api.routes()]

    def rules(core: ApiServices | None, metrics: Metrics | None) -> None:
        api.core, health.obstacle = core, None if core is not None else STAND_BY
        health.metrics = bytes if metrics is None else metrics.page

    async with (
        _http(settings, [*root_routes(routes), *routes], entrance) as http,
        Controller(settings, rules, farewell) as controller,
    ):
        where = f"{settings.zookeeper_connect}, id {settings.node_id}"
        print(f"ready: controller {controller.address}, http {http}, ZooKeeper {where}", flush=True)
        await asyncio.Event().wait()


async def _create_topics(app: Application, settings: Settings) -> None:
    try:
        await create_demo_topics(app, settings.embedded_brokers)
    except DriverStoppedError:
        await app.failure


@asynccontextmanager
async def _http(settings: Settings, routes: Sequence[BaseRoute], entrance: HttpAccess) -> AsyncIterator[str]:
    """HTTP is served inside, at the URL given."""
    place = settings.http_listener
    if isinstance(place, SocketPath):
        listening, url = bind_path(place, "http.listener"), str(place)
    else:
        listening = bind(place, "http.listener")
        scheme = "http" if entrance.tls is None else "https"
        url = f"{scheme}://{Address(*listening.getsockname()[:2])}"
    bounds = Bounds(settings.http_max_connections)
    server = HttpServer(listening, routes, entrance.tls, bounds, entrance.names)
    await server.start()
    try:
        yield url
    finally:
        await server.stop()
        if isinstance(place, SocketPath):
            place.path.unlink(missing_ok=True)
