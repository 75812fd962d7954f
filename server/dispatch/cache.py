"""A cache of encoded responses."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, NamedTuple

from common.worker_thread import WorkerThread
from protocol.codec.wire import codec


class Encoded(NamedTuple):
    """The encoded body of a response."""

    body: bytes


class _Kept(NamedTuple):
    revision: int
    answer: Encoded


class _Making(NamedTuple):
    revision: int
    task: asyncio.Task[Encoded]


class BodyCache:
    """Keeps one encoded body per key: that of the newest requested revision."""

    def __init__(self, off_loop: WorkerThread) -> None:
        self._off_loop = off_loop
        self._kept: dict[Hashable, _Kept] = {}
        self._making: dict[Hashable, _Making] = {}

    def get(
        self, key: Hashable, revision: int, version: int, build: Callable[[], Any], *, large: bool
    ) -> Encoded | Awaitable[Encoded]:
        """Return the body kept for `key` and `version` if it is of `revision`, else build and encode it anew.

        A large one is made off the loop, once for all who ask for it meanwhile; `build` then runs in another thread.
        """
        key = (key, version)
        kept = self._kept.get(key)
        if kept is not None and kept.revision == revision:
            return kept.answer
        if not large:
            answer = _encoded(build, version)
            self._kept[key] = _Kept(revision, answer)
            return answer
        making = self._making.get(key)
        if making is None or making.revision != revision:
            task = asyncio.create_task(self._make(key, revision, version, build))
            making = self._making[key] = _Making(revision, task)
        return asyncio.shield(making.task)

    async def _make(self, key: Hashable, revision: int, version: int, build: Callable[[], Any]) -> Encoded:
        try:
            answer = await self._off_loop.run(_encoded, build, version)
            self._kept[key] = _Kept(revision, answer)
            return answer
        finally:
            making = self._making.get(key)
            if making is not None and making.revision == revision:
                del self._making[key]


def _encoded(build: Callable[[], Any], version: int) -> Encoded:
    response = build()
    return Encoded(codec(type(response), version).encode(response))
