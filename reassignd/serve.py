"""The command `serve`: runs the configured runtime and HTTP until a signal.

What concerns the whole process is here: logging, limits of the system, garbage collection, signals. HTTP
starts first and stops last, so that `/readyz` can name the obstacle.
"""

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing

import uvloop
from starlette.routing import BaseRoute

from common.address import Address
from common.garbage_collector import Sweeper, collect_young_only
from common.tasks import cancel, spawn
from reassignd.config.keys import TOPIC
from reassignd.config.setting_types import SocketPath
from reassignd.config.settings import UPSTREAM, ZOOKEEPER, Settings
from reassignd.config.version import __version__
from reassignd.runtime import process
from reassignd.runtime.listeners.http_access import HttpAccess, http_access
from reassignd.runtime.listeners.sockets import bind, bind_path, share
from reassignd.runtime.listeners.tls import warn_of_plain_text
from reassignd.runtime.process import ServiceManager, until_signalled
from reassignd.runtime.runtime import HttpContent, Runtime
from reassignd.tracing.setting import check_traces
from server.api.routes import Api
from server.http.connection import Bounds
from server.http.server import Health, HttpServer, operations_routes, root_routes
from server.metrics.exposition import MetricsWithoutCluster

log = logging.getLogger(__name__)

STOP_SECONDS = 4.0
"""Time for a clean stop after a signal. The documentation promises 5 s to supervisors."""


def run(settings: Settings, *, demo_topics: bool) -> None:
    """Serve until a signal. Raises CommandError when that is not possible, or when the runtime fails."""
    process.configure(settings.log_format, settings.log_level)
    access = http_access(settings)
    warn_of_plain_text(settings)
    collect_young_only()
    settings = share(settings)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(settings, access, demo_topics=demo_topics))


async def _run(settings: Settings, access: HttpAccess, *, demo_topics: bool) -> None:
    with closing(make_runtime(settings, demo_topics=demo_topics)) as runtime:
        await until_signalled(_serve(settings, runtime, access), STOP_SECONDS, runtime.abort)


async def _serve(settings: Settings, runtime: Runtime, access: HttpAccess) -> None:
    without_cluster = MetricsWithoutCluster(__version__).page
    health, manager = Health("the server is starting", without_cluster), ServiceManager(os.environ)
    api = Api(health, access.access)
    routes = [*operations_routes(health), *api.routes(), *_cruise_control(settings, api, access)]

    def publish(content: HttpContent) -> None:
        health.obstacle, api.services, metrics, api.others, health.details = content
        health.metrics = metrics or without_cluster
        if health.obstacle:
            manager.status(health.obstacle)

    background = [spawn(Sweeper().run(), "garbage collection"), spawn(manager.stay_alive(), "signs of life")]
    try:
        async with _http(settings, [*root_routes(routes), *routes], access) as http:
            try:
                await runtime.start(publish)
                print(ready_line(settings.ready_format, runtime, http), flush=True)
                if settings.log_format == "json":
                    log_serving(runtime, http)
                manager.ready()
                await runtime.wait_for_failure()
            finally:
                manager.stopping()
                health.obstacle = "the server is stopping"
                await runtime.stop()
    finally:
        await cancel(*background)


def _cruise_control(settings: Settings, api: Api, access: HttpAccess) -> Sequence[BaseRoute]:
    """Return the routes of Cruise Control's API; none while it is off."""
    if not settings.cruisecontrol_api:
        return ()
    from reassignd.runtime.listeners.cruise_control import cruise_control_routes

    return cruise_control_routes(settings, api, access.access)


def log_serving(runtime: Runtime, http: str) -> None:
    """Log what the ready line on stdout says, for collectors of JSON logs.

    A plain log stands beside that line.
    """
    fields = {"kind": runtime.kind, "addresses": [str(each) for each in runtime.addresses], "http": http}
    log.info("requests are served", extra={"event": "serving", "fields": fields})


def ready_line(form: str, runtime: Runtime, http: str) -> str:
    """Return the line that says where requests are served: plain text, or a JSON object."""
    addresses = [str(address) for address in runtime.addresses]
    if form == "json":
        ready = {"kind": runtime.kind, "bootstrap_servers": ",".join(addresses), "addresses": addresses}
        return json.dumps(ready | {"http": http, "records": runtime.records_place})
    return f"ready: {runtime.kind} {','.join(addresses)}, http {http}, {runtime.records_place}"


@asynccontextmanager
async def _http(settings: Settings, routes: Sequence[BaseRoute], access: HttpAccess) -> AsyncIterator[str]:
    """Serve HTTP inside the context, which is given the URL."""
    listener = settings.http_listener
    if isinstance(listener, SocketPath):
        listening, url = bind_path(listener, "http.listener"), str(listener)
    else:
        listening = bind(listener, "http.listener")
        scheme = "http" if access.tls is None else "https"
        url = f"{scheme}://{Address(*listening.getsockname()[:2])}"
    bounds = Bounds(settings.http_max_connections)
    server = HttpServer(listening, routes, access.tls, bounds, access.names)
    await server.start()
    try:
        yield url
    finally:
        await server.stop()
        if isinstance(listener, SocketPath):
            listener.path.unlink(missing_ok=True)


def make_runtime(settings: Settings, *, demo_topics: bool) -> Runtime:
    """Return the configured runtime; `demo_topics` concerns the embedded cluster only.

    Raises CommandError or ConfigError.
    """
    check_traces(settings)
    # Each is imported here for the time and memory that the others do without: kazoo, httpx, the backends.
    if settings.backend == ZOOKEEPER:
        from reassignd.runtime.zookeeper import ZookeeperRuntime

        return ZookeeperRuntime(settings)
    if settings.backend == UPSTREAM and settings.state == TOPIC:
        from reassignd.runtime.instances.runtime import InstancesRuntime

        return InstancesRuntime(settings)
    if settings.backend == UPSTREAM:
        from reassignd.runtime.gateway import GatewayRuntime

        return GatewayRuntime(settings)
    from reassignd.runtime.data_dir import EmbeddedRuntime

    return EmbeddedRuntime(settings, demo_topics=demo_topics)
