"""A cache of encoded responses."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import NamedTuple

from common.off_loop import WorkerThread
from protocol.codec.wire import codec


class Encoded(NamedTuple):
    """The encoded body of a response."""

    body: bytes


class _Cached(NamedTuple):
    revision: int
    answer: Encoded


class _Build(NamedTuple):
    revision: int
    task: asyncio.Task[Encoded]


class BodyCache:
    """Caches one encoded body per key: the body of the newest requested revision."""

    def __init__(self, off_loop: WorkerThread) -> None:
        self._off_loop = off_loop
        self._cached: dict[Hashable, _Cached] = {}
        self._builds: dict[Hashable, _Build] = {}

    def get(
        self, key: Hashable, revision: int, version: int, build: Callable[[], NamedTuple], *, large: bool
    ) -> Encoded | Awaitable[Encoded]:
        """Return the cached body for `key` and `version` if it has this `revision`, else build a new one.

        `build` returns the response, or its encoded body.

        If `large`, `build` runs in the worker thread. Requests that arrive meanwhile share its result.
        """
        key = (key, version)
        cached = self._cached.get(key)
        if cached is not None and cached.revision == revision:
            return cached.answer
        if not large:
            answer = _encoded(build, version)
            self._cached[key] = _Cached(revision, answer)
            return answer
        running = self._builds.get(key)
        if running is None or running.revision != revision:
            task = asyncio.create_task(self._build(key, revision, version, build))
            running = self._builds[key] = _Build(revision, task)
        return asyncio.shield(running.task)

    async def _build(
        self, key: Hashable, revision: int, version: int, build: Callable[[], NamedTuple]
    ) -> Encoded:
        try:
            answer = await self._off_loop.run(_encoded, build, version)
            self._cached[key] = _Cached(revision, answer)
            return answer
        finally:
            running = self._builds.get(key)
            if running is not None and running.revision == revision:
                del self._builds[key]


def _encoded(build: Callable[[], NamedTuple], version: int) -> Encoded:
    response = build()
    if type(response) is Encoded:
        return response
    return Encoded(codec(type(response), version).encode(response))
