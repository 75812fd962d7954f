"""Random requests to every served API in every version.

Each is answered, or its connection is closed with one log line. No request causes error -1 or a traceback,
and the controller keeps running. `REASSIGND_FUZZ_ROUNDS=1000` runs longer, `REASSIGND_FUZZ_SEED` sets the
seed; a failure names its seed.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import Any

import pytest

from backends.embedded.cluster import Settings
from common.error_codes import ErrorCode
from common.off_loop import WorkerThread
from protocol.apis import find_api
from protocol.codec.errors import DecodeError
from protocol.codec.wire import Codec, codec
from protocol.counter import Bounds
from protocol.frames import RequestFrame, parse_response
from server.counters import Counters
from server.dispatch.cache import BodyCache
from server.dispatch.context import ANONYMOUS, AllowAll, Authorizer, Caller, Services
from server.dispatch.registry import ROUTES
from server.dispatch.router import Router
from tests.backends.harness import EmbeddedHarness
from tests.frames import decode_response
from tests.server.fakes import NOBODY
from tests.server.nasty import Nasty

ROUNDS = int(os.environ.get("REASSIGND_FUZZ_ROUNDS", "4"))
"""Number of messages per version, and of corrupted messages."""
SEED = int(os.environ.get("REASSIGND_FUZZ_SEED", "1"))

ANSWER_SECONDS = 60.0
NARROW = Bounds(rows=5, numbers=5)


class Target:
    """A controller with six embedded brokers, and a router.

    `narrow` sets such small bounds that most requests exceed them.
    """

    def __init__(self, backend: EmbeddedHarness, authorizer: Authorizer, *, narrow: bool = False) -> None:
        self.backend = backend
        self._off_loop = WorkerThread()
        bodies = BodyCache(self._off_loop)
        shared = Services(
            "id", backend.state, backend.driver, authorizer, self._off_loop, bodies, lambda: os.urandom(16)
        )
        routes = {key: route._replace(bounds=NARROW) if narrow else route for key, route in ROUTES.items()}
        self._router = Router(shared, Counters(), routes)

    async def answer(self, key: int, version: int, body: bytes) -> Any | None:
        """Return the decoded answer, or None if the connection would be closed."""
        broker = self.backend.cluster.brokers[1]
        frame = RequestFrame(key, version, 7, "fuzz", memoryview(body), known=True)
        try:
            answer = self._router.answer(frame, Caller(broker, ANONYMOUS, "10.0.0.9:4711"))
            if isinstance(answer, Awaitable):
                answer = await asyncio.wait_for(answer, ANSWER_SECONDS)
        except DecodeError:
            return None
        return decode_response(parse_response(answer[4:], key, version))

    def close(self) -> None:
        self._off_loop.close()


@pytest.fixture(params=["allowed", "denied", "narrow"])
async def target(request: pytest.FixtureRequest) -> AsyncIterator[Target]:
    backend = await EmbeddedHarness(settings=Settings(log_dirs=2)).start()
    await backend.having({"foo-0": (1, 2, 3), "foo-1": (2, 3, 1), "bar-0": (4,)})
    await backend.alter({"foo-1": (4, 5, 6)})
    authorizer = NOBODY if request.param == "denied" else AllowAll()
    result = Target(backend, authorizer, narrow=request.param == "narrow")
    yield result
    result.close()
    await backend.stop()


def failures(message: Any) -> Iterator[int]:
    """Return all error codes -1 in a response."""
    if isinstance(message, tuple) and hasattr(message, "_fields"):
        for name, value in zip(message._fields, message, strict=True):
            if name.endswith("error_code") and value == ErrorCode.UNKNOWN_SERVER_ERROR:
                yield value
            yield from failures(value)
    elif isinstance(message, tuple | list):
        for each in message:
            yield from failures(each)


@pytest.mark.parametrize("key", sorted(ROUTES), ids=lambda key: ROUTES[key].api_key.name)
async def test_every_request_is_answered_or_ends_its_connection(
    key: int, target: Target, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    api = find_api(key)
    assert api is not None
    ids = [topic.id for topic in target.backend.state.cluster.topics.values()]
    for version in ROUTES[key].versions:
        wire: Codec[Any] = codec(api.request.root, version)
        for seed in range(SEED, SEED + ROUNDS):
            nasty = Nasty(seed, ids)
            message = nasty.message(api.request, version)
            whole = wire.encode(message)
            for body in (whole, nasty.bytes(whole)):
                answer = await target.answer(key, version, body)
                what = f"key {key} version {version} seed {seed} {'whole' if body is whole else 'broken'}"
                assert list(failures(answer)) == [], what
                assert [record.getMessage() for record in caplog.records if record.exc_info] == [], what
                assert target.backend.failures == [], what
