"""Controller election, as by Kafka's brokers: one multi creates `/controller` and raises its epoch.

If a Kafka broker is the controller, the same multi deletes its `/controller`, so that no other broker can win
in between. Another reassignd is not deposed: we wait until its session ends.
"""

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from backends.zookeeper.session.tree import (
    ConflictError,
    Create,
    Delete,
    Operation,
    Set,
    Tree,
    Watch,
    Znode,
    ZookeeperError,
    ensure,
)
from backends.zookeeper.store.store import DeposedError, ElectedTerm
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError
from backends.zookeeper.znodes.formats import (
    ControllerZnode,
    Registration,
    decode_controller,
    decode_epoch,
    encode_controller,
)
from common.tasks import cancel

log = logging.getLogger(__name__)

T = TypeVar("T")

ATTEMPTS = 5

IMPOSSIBLE_VERSION = -2
"""A version that no znode has."""


class ControllerCandidate(NamedTuple):
    """Our id in elections, and the listeners at which brokers and clients connect to us."""

    id: int
    registration: Registration
    depose_brokers: bool = True
    """Whether to depose a Kafka broker that is the controller."""


async def check_permissions(tree: Tree) -> None:
    """Check the permissions to create and write znodes, by writes that must fail.

    Raises ZookeeperError when an ACL forbids them.
    """
    for write in (Create(paths.BROKERS), Set(paths.BROKERS, b"", IMPOSSIBLE_VERSION)):
        with suppress(ConflictError):
            await tree.multi([write])


async def run_election(
    tree: Tree, candidate: ControllerCandidate, now_ms: int, watch: Watch
) -> ElectedTerm | None:
    """Try to become the controller. Return the term that was won, or None if there is another controller.

    `watch` fires when `/controller` changes. Raises ZookeeperError.
    """
    for _ in range(ATTEMPTS):
        # Brokers try at the same moment and the first one wins, so all reads are pipelined.
        holder, (epoch, version), _ = await asyncio.gather(
            tree.get(paths.CONTROLLER, watch), _epoch(tree), ensure(tree, paths.BROKERS)
        )
        if holder is not None and not _can_replace(tree, candidate, holder):
            return None
        operations: list[Operation] = [] if holder is None else [Delete(paths.CONTROLLER, holder.version)]
        controller = encode_controller(ControllerZnode(candidate.id, now_ms, is_reassignd=True))
        operations += [
            Create(paths.CONTROLLER, controller, ephemeral=True),
            Set(paths.CONTROLLER_EPOCH, str(epoch + 1).encode(), version),
        ]
        try:
            await tree.multi(operations)
        except ConflictError as conflict:
            log.debug("not elected: %s", conflict)
            if conflict.operation.path == paths.CONTROLLER:
                return None
        else:
            return ElectedTerm(epoch + 1, version + 1)
    raise ZookeeperError(
        f"not elected: {paths.CONTROLLER_EPOCH} was changed by others in {ATTEMPTS} attempts"
    )


async def resign(tree: Tree, candidate: ControllerCandidate, term: ElectedTerm) -> None:
    """Delete our `/controller` and our registration (see `registrar`), if they still exist."""
    for path in (paths.CONTROLLER, paths.broker(candidate.id)):
        znode = await tree.get(path)
        if znode is not None and znode.ephemeral_owner == tree.session_id:
            try:
                await tree.multi([term.check, Delete(path)])
            except ConflictError:
                log.debug("%s was changed by another controller", path)


async def is_controller(tree: Tree, watch: Watch) -> bool:
    """Return whether our session owns `/controller`; `watch` fires when it changes."""
    znode = await tree.get(paths.CONTROLLER, watch)
    return znode is not None and znode.ephemeral_owner == tree.session_id


async def while_controller(
    tree: Tree, ending: asyncio.Future[BaseException], work: Coroutine[Any, Any, T]
) -> T:
    """Return the result of `work`, unless the term ends before.

    Raises the result of `ending`, DeposedError.
    """
    working, watching = asyncio.create_task(work), asyncio.create_task(_until_deposed(tree))
    try:
        first_of: set[asyncio.Future[Any]] = {working, watching, ending}
        await asyncio.wait(first_of, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        if ending.done():
            raise ending.result()
        await watching
        raise DeposedError("another controller was elected")
    finally:
        await cancel(working, watching)


async def _until_deposed(tree: Tree) -> None:
    changed = asyncio.Event()
    while await is_controller(tree, changed.set):
        await changed.wait()
        changed.clear()


def _can_replace(tree: Tree, candidate: ControllerCandidate, holder: Znode) -> bool:
    """Return whether the election may delete this `/controller`.

    Our own from an earlier term, or a Kafka broker's.
    """
    if holder.ephemeral_owner == tree.session_id:
        return True
    try:
        controller = decode_controller(holder.data)
    except ZnodeError as error:
        log.error("%s is not replaced, because it is invalid: %s", paths.CONTROLLER, error)
        return False
    return candidate.depose_brokers and not controller.is_reassignd


async def _epoch(tree: Tree) -> tuple[int, int]:
    """Return the last controller epoch and the version of its znode, which is created if it is missing."""
    znode = await tree.get(paths.CONTROLLER_EPOCH)
    if znode is None:
        await tree.multi([Create(paths.CONTROLLER_EPOCH, b"0")])
        znode = await tree.get(paths.CONTROLLER_EPOCH)
    if znode is None:
        raise ZookeeperError(f"{paths.CONTROLLER_EPOCH} was deleted")
    try:
        return decode_epoch(znode.data), znode.version
    except ZnodeError as error:
        raise ZookeeperError(
            f"{paths.CONTROLLER_EPOCH}: {error}; write the last controller epoch into it"
        ) from error
