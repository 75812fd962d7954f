"""A gateway before a running Kafka, as a process of its own: it relays, and its core moves nothing.

`python -m bench.standing --port 30000 --data-dir DIR 1=127.0.0.1:19092 …` serves until it is interrupted.
"""

import argparse
import asyncio
import contextlib
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path

import uvloop

from backends.memory import MemoryStore
from controller.effects import Effect
from controller.machine import decide
from controller.state import State
from server.authorizer import AllowAll
from server.cache import BodyCache
from server.context import Services
from server.driver import Driver
from server.gateway.addresses import Address
from server.gateway.core import Core
from server.gateway.gateway import Gateway, Setup
from server.limits import Limits
from server.offloop import OffLoop
from server.router import Router
from server.stats import Counters

OWN_ID = 1_000_000


class Nothing:
    """A backend that carries nothing out."""

    def perform(self, effects: Sequence[Effect]) -> None:
        """Leave it."""


@contextlib.asynccontextmanager
async def core(state: State) -> AsyncIterator[Core]:
    """A core over the state, which decides and forgets."""
    stats, off_loop = Counters(), OffLoop()
    failures: list[BaseException] = []
    driver = Driver(state, MemoryStore(), Nothing(), decide, stats=stats, on_failure=failures.append)
    driver.start()
    services = Services(
        "standing", state, driver, AllowAll(), off_loop, BodyCache(off_loop), lambda: bytes(16)
    )
    router = Router(services, stats)
    try:
        yield Core(OWN_ID, router.answer, router.refuse, state, driver.submit)
    finally:
        await driver.stop()
        off_loop.close()
        assert not failures


@contextlib.asynccontextmanager
async def standing(
    setup: Setup, directory: Path, brokers: Mapping[int, Address], state: State | None = None
) -> AsyncIterator[Gateway]:
    """A gateway that is there while the block runs."""
    async with core(State() if state is None else state) as answers:
        gateway = Gateway(answers, setup, Limits(), Counters(), directory)
        try:
            await gateway.update(brokers)
            yield gateway
        finally:
            await gateway.close(1.0)


@contextlib.contextmanager
def gateway_process(port: int, directory: Path, brokers: Mapping[int, Address]) -> Iterator[int]:
    """A gateway in a process, whose id is given, for the length of a `with`."""
    places = [f"{broker}={at}" for broker, at in brokers.items()]
    command = [
        sys.executable,
        "-m",
        "bench.standing",
        "--port",
        str(port),
        "--data-dir",
        str(directory),
        *places,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"ready")
        try:
            yield process.pid
        finally:
            process.terminate()


async def _serve(port: int, directory: Path, brokers: Mapping[int, Address]) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    setup = Setup(Address("127.0.0.1", port), 100, "127.0.0.1")
    async with standing(setup, directory, brokers):
        print("ready", flush=True)
        await stop.wait()


def address(text: str) -> tuple[int, Address]:
    """`ID=HOST:PORT`."""
    broker, _, place = text.partition("=")
    host, _, port = place.rpartition(":")
    return int(broker), Address(host, int(port))


def main() -> None:
    """Serves until SIGINT or SIGTERM."""
    options = argparse.ArgumentParser(prog="python -m bench.standing")
    options.add_argument("--port", type=int, required=True)
    options.add_argument("--data-dir", type=Path, required=True)
    options.add_argument("brokers", type=address, nargs="+")
    chosen = options.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(_serve(chosen.port, chosen.data_dir, dict(chosen.brokers)))


if __name__ == "__main__":
    main()
