"""Becoming the controller: one multi that makes `/controller` ours and counts `/controller_epoch` up.

A broker of Kafka's that holds `/controller` is relieved in the same multi, so that none of the others can step in between;
another reassignd is not: we stand by until its session ends.
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
from backends.zookeeper.store.store import DeposedError, Term
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

TRIES = 5

NO_VERSION = -2
"""A version that no znode has."""


class Candidate(NamedTuple):
    """Who stands, and how brokers and clients reach it."""

    id: int
    registration: Registration
    depose_brokers: bool = True
    """Take the office from a broker of Kafka's."""


async def check_permissions(tree: Tree) -> None:
    """Find out whether we may stand, by writes that cannot be made. Raises ZookeeperError where ACLs are against it."""
    for write in (Create(paths.BROKERS), Set(paths.BROKERS, b"", NO_VERSION)):
        with suppress(ConflictError):
            await tree.multi([write])


async def run_election(tree: Tree, candidate: Candidate, now_ms: int, watch: Watch) -> Term | None:
    """The term that was won, or None when someone else is in office; `watch` is told when that may have changed.

    Raises ZookeeperError.
    """
    for _ in range(TRIES):
        # Who is quick has the office: all is read in one go, and again where that does not fit any more.
        holder, (epoch, version), _ = await asyncio.gather(
            tree.get(paths.CONTROLLER, watch), _epoch(tree), ensure(tree, paths.BROKERS)
        )
        if holder is not None and not _yields(tree, candidate, holder):
            return None
        made: list[Operation] = [] if holder is None else [Delete(paths.CONTROLLER, holder.version)]
        controller = encode_controller(ControllerZnode(candidate.id, now_ms, ours=True))
        made += [
            Create(paths.CONTROLLER, controller, ephemeral=True),
            Set(paths.CONTROLLER_EPOCH, str(epoch + 1).encode(), version),
        ]
        try:
            await tree.multi(made)
        except ConflictError as conflict:
            log.debug("not elected: %s", conflict)
            if conflict.operation.path == paths.CONTROLLER:
                return None
        else:
            return Term(epoch + 1, version + 1)
    raise ZookeeperError("not elected: znodes change faster than they can be written")


async def resign(tree: Tree, candidate: Candidate, term: Term) -> None:
    """Leave the office, and the list of brokers (see `registrar`), if we still are in it."""
    for path in (paths.CONTROLLER, paths.broker(candidate.id)):
        held = await tree.get(path)
        if held is not None and held.ephemeral_owner == tree.session_id:
            try:
                await tree.multi([term.check, Delete(path)])
            except ConflictError:
                log.debug("%s is not ours any more", path)


async def is_controller(tree: Tree, watch: Watch) -> bool:
    """Whether `/controller` is ours; `watch` is told when that may have changed."""
    held = await tree.get(paths.CONTROLLER, watch)
    return held is not None and held.ephemeral_owner == tree.session_id


async def while_controller(
    tree: Tree, ending: asyncio.Future[BaseException], work: Coroutine[Any, Any, T]
) -> T:
    """What the work returns, or what ends the term before that: `ending`, or another election. Raises DeposedError."""
    working, office = asyncio.create_task(work), asyncio.create_task(_until_deposed(tree))
    try:
        any_of: set[asyncio.Future[Any]] = {working, office, ending}
        await asyncio.wait(any_of, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        if ending.done():
            raise ending.result()
        await office
        raise DeposedError("another controller was elected")
    finally:
        await cancel(working, office)


async def _until_deposed(tree: Tree) -> None:
    changed = asyncio.Event()
    while await is_controller(tree, changed.set):
        await changed.wait()
        changed.clear()


def _yields(tree: Tree, candidate: Candidate, holder: Znode) -> bool:
    """Whether we take the office from who holds it: a session of ours that was, or a broker."""
    if holder.ephemeral_owner == tree.session_id:
        return True
    try:
        controller = decode_controller(holder.data)
    except ZnodeError as error:
        log.error("%s is left alone: %s", paths.CONTROLLER, error)
        return False
    return candidate.depose_brokers and not controller.ours


async def _epoch(tree: Tree) -> tuple[int, int]:
    """The last controller's epoch, and the version of its znode, which is made if need be."""
    znode = await tree.get(paths.CONTROLLER_EPOCH)
    if znode is None:
        await tree.multi([Create(paths.CONTROLLER_EPOCH, b"0")])
        znode = await tree.get(paths.CONTROLLER_EPOCH)
    if znode is None:
        raise ZookeeperError(f"{paths.CONTROLLER_EPOCH} is gone")
    try:
        return decode_epoch(znode.data), znode.version
    except ZnodeError as error:
        raise ZookeeperError(f"{paths.CONTROLLER_EPOCH}: {error}; mend it by hand") from error
