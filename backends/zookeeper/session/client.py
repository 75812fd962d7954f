"""The ZooKeeper client: kazoo, whose callbacks are handed over to the event loop.

kazoo calls back on its own thread. The callbacks do nothing there but put a function into a `CallbackQueue`.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import (
    InvalidACLError,
    KazooException,
    NoAuthError,
    NoNodeError,
    RolledBackError,
    RuntimeInconsistency,
    SessionClosedRequireSaslError,
)
from kazoo.handlers.threading import AsyncResult, KazooTimeoutError
from kazoo.protocol.states import KeeperState, WatchedEvent, ZnodeStat
from kazoo.retry import KazooRetry

from backends.zookeeper.session.handler import CallbackQueue, KazooHandler
from backends.zookeeper.session.security import NO_SECURITY, ZookeeperSecurity
from backends.zookeeper.session.tree import (
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
from common.clock import Clock, RealClock
from common.tasks import cancel, spawn

log = logging.getLogger(__name__)

CONNECT_SECONDS = 15.0
LOGIN_RETRY_SECONDS = 2.0
"""Pause after a rejected login in a running process. A ZooKeeper that stops may break off a login with
correct credentials."""

ENDED = (KeeperState.AUTH_FAILED, KeeperState.CLOSED)
"""States in which kazoo does not reconnect."""

ERROR_TEXTS = {
    NoAuthError: "no permission to read this",
    SessionClosedRequireSaslError: "it requires a SASL login",
}


class ZookeeperClient:
    """Implements `Tree`.

    `on_lost` is called on the event loop when the session is lost; a new session starts automatically.

    `hosts` is `HOST:PORT,HOST:PORT/chroot`.
    """

    def __init__(
        self,
        hosts: str,
        session_timeout_seconds: float,
        on_lost: Callable[[], None],
        security: ZookeeperSecurity = NO_SECURITY,
        clock: Clock | None = None,
    ) -> None:
        self._hosts, self._session_timeout_seconds = hosts, session_timeout_seconds
        self._security = security
        self._clock = clock or RealClock()
        self._callbacks = CallbackQueue(asyncio.get_running_loop())
        self._on_lost = on_lost
        self._kazoo_log = _KazooLog()
        self._ended = False
        """Whether kazoo has stopped to reconnect."""
        self._running = False
        self._login_retry: asyncio.Task[None] | None = None
        self._client = self._new_client()

    async def start(self) -> None:
        """Connect and log in.

        Raises ZookeeperError when the login is rejected, or takes longer than CONNECT_SECONDS.
        """
        try:
            await asyncio.to_thread(self._client.start, CONNECT_SECONDS)
            # kazoo has a session before it has logged in. Only a response proves that the login has
            # succeeded.
            await self._await(self._client.exists_async("/"))
        except (KazooTimeoutError, KazooException, ZookeeperError) as error:
            rejected = self._ended and self._security.login is not None
            await self.stop()
            raise ZookeeperError(self._connect_error(error, login_rejected=rejected)) from error
        self._running = True

    async def stop(self) -> None:
        """Close the session. ZooKeeper deletes its ephemeral znodes at once."""
        self._running = False
        if self._login_retry is not None:
            await cancel(self._login_retry)
        await asyncio.to_thread(_close, self._client)

    def abort(self) -> None:
        """Close the session from any thread, without the event loop. No method may be called afterwards."""
        self._running = False
        _close(self._client)

    @property
    def session_id(self) -> int:
        """See `Tree.session_id`."""
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
            # ZooKeeper sets no watch with a failed read. An exists request sets one on a missing znode.
            if await self._await(self._client.exists_async(path, watch=self._bridged(watch))) is None:
                return None

    async def get_all(self, paths: Sequence[str]) -> list[Znode | None]:
        """See `Tree.get_all`."""
        if not paths:
            return []
        pending = [self._client.get_async(path) for path in paths]
        with suppress(NoNodeError):
            # Responses arrive in the order of the requests: when the last one is here, all are.
            await self._await(pending[-1])
        return [await self._znode_or_none(each) for each in pending]

    async def children(self, path: str, watch: Watch | None = None) -> list[str] | None:
        """See `Tree.children`."""
        while True:
            try:
                names: list[str] = await self._await(
                    self._client.get_children_async(path, watch=self._bridged(watch))
                )
            except NoNodeError:
                if watch is None:
                    return None
            else:
                return names
            # ZooKeeper sets no watch with a failed read. An exists request sets one on a missing znode.
            if await self._await(self._client.exists_async(path, watch=self._bridged(watch))) is None:
                return None

    async def multi(self, operations: Sequence[Operation]) -> None:
        """See `Tree.multi`."""
        transaction = self._client.transaction()
        for operation in operations:
            match operation:
                case Create(path, data, ephemeral, sequence):
                    # kazoo's transaction rejects null data, though its protocol can send it. Kafka fails on
                    # empty data.
                    acl = self._security.acl(path)
                    transaction.create(path, b"", acl, ephemeral=ephemeral, sequence=sequence)
                    transaction.operations[-1] = transaction.operations[-1]._replace(data=data)
                case Set(path, data, version):
                    transaction.set_data(path, data, version)
                case Delete(path, version):
                    transaction.delete(path, version)
                case Check(path, version):
                    transaction.check(path, version)
        results = await self._await(transaction.commit_async())
        for operation, result in zip(operations, results, strict=True):
            if isinstance(result, NoAuthError | InvalidACLError):
                raise ZookeeperError(f"ZooKeeper at {self._hosts}: no permission to write {operation.path}")
            if isinstance(result, Exception) and not isinstance(
                result, RolledBackError | RuntimeInconsistency
            ):
                raise ConflictError(operation, type(result).__name__)
        if any(isinstance(result, Exception) for result in results):
            raise ZookeeperError("ZooKeeper rejected a multi without a reason")

    async def _znode_or_none(self, pending: AsyncResult) -> Znode | None:
        try:
            return _znode(await self._await(pending))
        except NoNodeError:
            return None

    # kazoo has no types: a result is whatever the request returns.
    async def _await(self, pending: AsyncResult) -> Any:  # noqa: ANN401
        """Return the result of a kazoo request. Raises NoNodeError, ZookeeperError."""
        if not pending.ready():
            done = asyncio.Event()
            pending.rawlink(lambda _: self._call(done.set))
            await done.wait()
        error = pending.exception
        if error is None:
            return pending.value
        if isinstance(error, KazooException) and not isinstance(error, NoNodeError):
            raise ZookeeperError(self._describe(error)) from error
        raise error

    def _bridged(self, watch: Watch | None) -> Callable[[WatchedEvent], None] | None:
        return None if watch is None else lambda _event: self._call(watch)

    def _call(self, function: Callable[[], object]) -> None:
        try:
            self._callbacks.put(function)
        except RuntimeError:
            log.debug("a callback of kazoo came after the end of the event loop")

    def _state_changed(self, client: KazooClient, state: str) -> None:
        """Handle a state change, on a thread of kazoo.

        The listener stays registered unless it returns True.
        """
        if state == KazooState.LOST:
            self._ended = client.client_state in ENDED
            self._call(self._lost)

    def _lost(self) -> None:
        self._on_lost()
        if self._running and self._ended:
            log.error("ZooKeeper at %s rejects the login now%s; retrying", self._hosts, self._reason())
            self._login_retry = spawn(self._log_in_again(), "ZooKeeper login")

    async def _log_in_again(self) -> None:
        await self._clock.sleep(LOGIN_RETRY_SECONDS)
        await asyncio.to_thread(_close, self._client)
        self._client = self._new_client()
        self._client.start_async()

    def _new_client(self) -> KazooClient:
        self._ended = False
        client = KazooClient(
            self._hosts,
            timeout=self._session_timeout_seconds,
            handler=KazooHandler(self._security.tls),
            connection_retry=KazooRetry(max_tries=-1, delay=0.05, backoff=1.5, max_delay=1.0),
            logger=self._kazoo_log.logger(),
            **self._security.credentials(),
        )
        client.add_listener(partial(self._state_changed, client))
        return client

    def _connect_error(self, error: Exception, *, login_rejected: bool) -> str:
        reason = self._reason()
        if login_rejected:
            return f"ZooKeeper at {self._hosts} rejects the login{reason}; check the password"
        if isinstance(error, KazooTimeoutError):
            return f"no response from ZooKeeper at {self._hosts} within {CONNECT_SECONDS:g} s{reason}"
        return str(error) if isinstance(error, ZookeeperError) else self._describe(error)

    def _reason(self) -> str:
        return f" ({self._kazoo_log.last})" if self._kazoo_log.last else ""

    def _describe(self, error: Exception) -> str:
        return f"ZooKeeper at {self._hosts}: {ERROR_TEXTS.get(type(error), type(error).__name__)}"


class _KazooLog(logging.Handler):
    """Keeps the last reason that kazoo logs, for our own messages: kazoo logs each attempt to connect.

    Errors that are not about the connection go to our log.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last = ""

    def logger(self) -> logging.Logger:
        """Return a logger for one client. It is not registered, so it cannot be configured by name."""
        logger = logging.Logger("kazoo", logging.WARNING)  # noqa: LOG001 (each client has its own)
        logger.addHandler(self)
        return logger

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the reason of a record, on a thread of kazoo."""
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            self.last = type(error).__name__
        elif isinstance(record.args, tuple) and record.args:
            self.last = str(record.args[-1])
        if record.levelno >= logging.ERROR and not isinstance(error, KazooException):
            log.handle(record)


def _close(client: KazooClient) -> None:
    client.stop()
    client.close()


def _znode(answer: tuple[bytes, ZnodeStat]) -> Znode:
    data, stat = answer
    return Znode(data, stat.version, stat.czxid, stat.mzxid, stat.ephemeralOwner)
