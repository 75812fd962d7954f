"""ZooKeeper through kazoo, whose threads are bridged into the event loop.

kazoo calls back on a thread of its own; nothing but handing the outcome to the loop is done there (see `handler`).
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
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KeeperState
from kazoo.retry import KazooRetry

from backends.zookeeper.session.handler import Handler, Mailbox
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
from common.tasks import cancel, spawn

log = logging.getLogger(__name__)

CONNECT_SECONDS = 15.0
AGAIN_SECONDS = 2.0
"""After a login that was refused while we were at work: ZooKeeper hangs up in the middle of one when it stops."""

ENDED = (KeeperState.AUTH_FAILED, KeeperState.CLOSED)
"""States in which kazoo does not connect again."""

MEANINGS = {
    NoAuthError: "no right to read this",
    SessionClosedRequireSaslError: "it asks for a login by SASL",
}


class ZookeeperClient:
    """Implements `Tree`. `on_lost` is called on the loop when the session is gone; the next one is begun by itself.

    `hosts` is `HOST:PORT,HOST:PORT/chroot`.
    """

    def __init__(
        self,
        hosts: str,
        session_timeout_seconds: float,
        on_lost: Callable[[], None],
        security: ZookeeperSecurity = NO_SECURITY,
    ) -> None:
        self._hosts, self._session_timeout_seconds = hosts, session_timeout_seconds
        self._security = security
        self._loop = asyncio.get_running_loop()
        self._mailbox = Mailbox(self._loop)
        self._on_lost = on_lost
        self._heard = _Heard()
        self._ended = False
        """kazoo has given up, or was told to."""
        self._running = False
        self._beginning: asyncio.Task[None] | None = None
        self._client = self._new_client()

    async def start(self) -> None:
        """Connect and log in. Raises ZookeeperError when that is refused, or takes longer than CONNECT_SECONDS."""
        try:
            await asyncio.to_thread(self._client.start, CONNECT_SECONDS)
            # kazoo has a session before it has logged in: only an answer shows that it has done so.
            await self._await(self._client.exists_async("/"))
        except (KazooTimeoutError, KazooException, ZookeeperError) as error:
            refused = self._ended and self._security.login is not None
            await self.stop()
            raise ZookeeperError(self._why(error, refused=refused)) from error
        self._running = True

    async def stop(self) -> None:
        """End the session: its ephemeral znodes go at once."""
        self._running = False
        if self._beginning is not None:
            await cancel(self._beginning)
        await asyncio.to_thread(_close, self._client)

    def abort(self) -> None:
        """End the session from any thread, while the event loop stands still; nothing may be asked after that."""
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
        while True:
            try:
                found: list[str] = await self._await(
                    self._client.get_children_async(path, watch=self._bridged(watch))
                )
            except NoNodeError:
                if watch is None:
                    return None
            else:
                return found
            # ZooKeeper leaves no watch for children on a znode that does not exist.
            if await self._await(self._client.exists_async(path, watch=self._bridged(watch))) is None:
                return None

    async def multi(self, operations: Sequence[Operation]) -> None:
        """See `Tree.multi`."""
        transaction = self._client.transaction()
        for operation in operations:
            match operation:
                case Create(path, data, ephemeral, sequence):
                    # kazoo's transaction insists on bytes, but can write none; Kafka dies of empty data in places.
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
                raise ZookeeperError(f"ZooKeeper at {self._hosts}: no right to write {operation.path}")
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
            raise ZookeeperError(self._told(error)) from error
        raise error

    def _bridged(self, watch: Watch | None) -> Callable[[Any], None] | None:
        return None if watch is None else lambda _event: self._call(watch)

    def _call(self, function: Callable[[], object]) -> None:
        try:
            self._mailbox.put(function)
        except RuntimeError:
            log.debug("ZooKeeper had something to say after the end")

    def _state_changed(self, client: KazooClient, state: str) -> None:
        """On a thread of kazoo's: hand it over, and remain a listener by not returning True."""
        if state == KazooState.LOST:
            self._ended = client.client_state in ENDED
            self._call(self._lost)

    def _lost(self) -> None:
        self._on_lost()
        if self._running and self._ended:
            log.error("ZooKeeper at %s lets us in no more%s; trying again", self._hosts, self._reason())
            self._beginning = spawn(self._begin_again(), "ZooKeeper login")

    async def _begin_again(self) -> None:
        await asyncio.sleep(AGAIN_SECONDS)
        await asyncio.to_thread(_close, self._client)
        self._client = self._new_client()
        self._client.start_async()

    def _new_client(self) -> KazooClient:
        self._ended = False
        client = KazooClient(
            self._hosts,
            timeout=self._session_timeout_seconds,
            handler=Handler(self._security.tls),
            connection_retry=KazooRetry(max_tries=-1, delay=0.05, backoff=1.5, max_delay=1.0),
            logger=self._heard.logger(),
            **self._security.credentials(),
        )
        client.add_listener(partial(self._state_changed, client))
        return client

    def _why(self, error: Exception, *, refused: bool) -> str:
        """There is no session."""
        reason = self._reason()
        if refused:
            return f"ZooKeeper at {self._hosts} refuses our login{reason}; is the password right?"
        if isinstance(error, KazooTimeoutError):
            return f"no ZooKeeper answers at {self._hosts} within {CONNECT_SECONDS:g} s{reason}"
        return str(error) if isinstance(error, ZookeeperError) else self._told(error)

    def _reason(self) -> str:
        return f" ({self._heard.last})" if self._heard.last else ""

    def _told(self, error: Exception) -> str:
        return f"ZooKeeper at {self._hosts}: {MEANINGS.get(type(error), type(error).__name__)}"


class _Heard(logging.Handler):
    """Keeps the last reason that kazoo gives, which tells of every attempt to connect; what matters is told by us."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last = ""

    def logger(self) -> logging.Logger:
        """For kazoo; it has no name that could be configured."""
        logger = logging.Logger("kazoo", logging.WARNING)  # noqa: LOG001 (each client has its own)
        logger.addHandler(self)
        return logger

    def emit(self, record: logging.LogRecord) -> None:
        """On a thread of kazoo's."""
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


def _znode(answer: Any) -> Znode:
    data, stat = answer
    return Znode(data, stat.version, stat.czxid, stat.mzxid, stat.ephemeralOwner)
