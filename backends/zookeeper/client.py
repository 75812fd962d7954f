"""ZooKeeper through kazoo, whose threads are bridged into the event loop.

kazoo calls back on a thread of its own; nothing but handing the outcome to the loop is done there (see `handler`).
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException, NoNodeError, RolledBackError, RuntimeInconsistency
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.retry import KazooRetry

from backends.zookeeper.handler import Handler, Mailbox
from backends.zookeeper.tree import (
    Check,
    ConflictError,
    Create,
    Delete,
    Operation,
    Set,
    Watch,
    Znode,
    ZookeeperError,
)

log = logging.getLogger(__name__)

CONNECT_SECONDS = 15.0


class ZookeeperClient:
    """Implements `Tree`. `on_lost` is called on the loop when the session is gone; the next one is begun by itself.

    `hosts` is `HOST:PORT,HOST:PORT/chroot`.
    """

    def __init__(self, hosts: str, session_timeout_seconds: float, on_lost: Callable[[], None]) -> None:
        self._hosts = hosts
        self._loop = asyncio.get_running_loop()
        self._mailbox = Mailbox(self._loop)
        self._on_lost = on_lost
        forever = KazooRetry(max_tries=-1, delay=0.05, backoff=1.5, max_delay=1.0)
        self._client = KazooClient(
            hosts,
            timeout=session_timeout_seconds,
            handler=Handler(),
            connection_retry=forever,
            logger=_quiet_logger(),
        )
        self._client.add_listener(self._state_changed)

    async def start(self) -> None:
        """Connect. Raises ZookeeperError when that takes longer than CONNECT_SECONDS."""
        try:
            await asyncio.to_thread(self._client.start, CONNECT_SECONDS)
        except KazooTimeoutError as error:
            await self.stop()
            raise ZookeeperError(
                f"no ZooKeeper answers at {self._hosts} within {CONNECT_SECONDS:g} s"
            ) from error

    async def stop(self) -> None:
        """End the session: its ephemeral znodes go at once."""
        await asyncio.to_thread(self._close)

    @property
    def session(self) -> int:
        """See `Tree.session`."""
        identity: tuple[int, bytes] | None = self._client.client_id
        return 0 if identity is None else identity[0]

    async def get(self, path: str, watch: Watch | None = None) -> Znode | None:
        """See `Tree.get`."""
        while True:
            try:
                return _znode(await self._await(self._client.get_async(path, watch=self._bridged(watch))))
            except NoNodeError:
                if watch is None:
                    return None
            # Only a look whether it exists leaves a watch on a znode that does not.
            if await self._await(self._client.exists_async(path, watch=self._bridged(watch))) is None:
                return None

    async def get_all(self, paths: Sequence[str]) -> list[Znode | None]:
        """See `Tree.get_all`."""
        if not paths:
            return []
        pending = [self._client.get_async(path) for path in paths]
        with suppress(NoNodeError):
            # Answers come in the order of the requests: with the last, all are here.
            await self._await(pending[-1])
        return [await self._znode_or_none(each) for each in pending]

    async def children(self, path: str, watch: Watch | None = None) -> list[str] | None:
        """See `Tree.children`."""
        try:
            found: list[str] = await self._await(
                self._client.get_children_async(path, watch=self._bridged(watch))
            )
        except NoNodeError:
            return None
        return found

    async def multi(self, operations: Sequence[Operation]) -> None:
        """See `Tree.multi`."""
        transaction = self._client.transaction()
        for operation in operations:
            match operation:
                case Create(path, data, ephemeral, sequence):
                    # kazoo's transaction insists on bytes, but can write none; Kafka dies of empty data in places.
                    transaction.create(path, b"", ephemeral=ephemeral, sequence=sequence)
                    transaction.operations[-1] = transaction.operations[-1]._replace(data=data)
                case Set(path, data, version):
                    transaction.set_data(path, data, version)
                case Delete(path, version):
                    transaction.delete(path, version)
                case Check(path, version):
                    transaction.check(path, version)
        results = await self._await(transaction.commit_async())
        for operation, result in zip(operations, results, strict=True):
            if isinstance(result, Exception) and not isinstance(
                result, RolledBackError | RuntimeInconsistency
            ):
                raise ConflictError(operation, type(result).__name__)
        if any(isinstance(result, Exception) for result in results):
            raise ZookeeperError("ZooKeeper refused a transaction without saying why")

    async def _znode_or_none(self, pending: Any) -> Znode | None:
        try:
            return _znode(await self._await(pending))
        except NoNodeError:
            return None

    async def _await(self, pending: Any) -> Any:
        """The result of an operation of kazoo's."""
        if not pending.ready():
            done = asyncio.Event()
            pending.rawlink(lambda _: self._call(done.set))
            await done.wait()
        error = pending.exception
        if error is None:
            return pending.value
        if isinstance(error, KazooException) and not isinstance(error, NoNodeError):
            raise ZookeeperError(f"ZooKeeper at {self._hosts}: {type(error).__name__}") from error
        raise error

    def _bridged(self, watch: Watch | None) -> Callable[[Any], None] | None:
        return None if watch is None else lambda _event: self._call(watch)

    def _call(self, function: Callable[[], object]) -> None:
        try:
            self._mailbox.put(function)
        except RuntimeError:
            log.debug("ZooKeeper had something to say after the end")

    def _state_changed(self, state: str) -> None:
        """On a thread of kazoo's: hand it over, and remain a listener by not returning True."""
        if state == KazooState.LOST:
            self._call(self._on_lost)

    def _close(self) -> None:
        self._client.stop()
        self._client.close()


def _znode(answer: Any) -> Znode:
    data, stat = answer
    return Znode(data, stat.version, stat.czxid, stat.mzxid, stat.ephemeralOwner)


def _quiet_logger() -> logging.Logger:
    """Kazoo tells of every attempt to connect; what matters is told by us."""
    logger = logging.getLogger("kazoo")
    logger.setLevel(logging.ERROR)
    return logger
