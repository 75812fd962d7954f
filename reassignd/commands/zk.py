"""The command `zk`: plans by znode (KIP-236, and kafka-reassign-partitions --zookeeper before Kafka 3).

`submit` writes a znode that every controller reads. `cancel` and `queue` fail unless reassignd is the
controller, because Kafka's controller ignores their znodes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec

import click

from common.wording import counted
from reassignd.commands.help import examples
from reassignd.commands.options import FILE, PLAN_FILE
from reassignd.commands.output import echo
from reassignd.commands.plan_file import content_of
from reassignd.config.errors import CommandError
from reassignd.config.settings import Settings
from reassignd.config.sources import Assignment, read_file, resolve

if TYPE_CHECKING:
    from backends.zookeeper.admin.orders import Entry
    from backends.zookeeper.session.tree import Tree
    from backends.zookeeper.znodes.formats import ControllerZnode
    from controller.model.cluster import TopicPartition

P = ParamSpec("P")

SESSION_SECONDS = 6.0


@click.group(epilog=examples("reassignd zk show --zookeeper zk1:2181"))
def zk() -> None:
    """Submit, cancel, queue and show plans by znode, in a cluster in ZooKeeper mode."""


def with_zookeeper(
    command: Callable[Concatenate["Tree", P], Awaitable[None]],
) -> Callable[..., None]:
    """Add the options of the ZooKeeper connection, and pass the znode tree as the first argument."""

    @click.option(
        "--zookeeper",
        metavar="HOST:PORT/CHROOT",
        help="zookeeper.connect of the brokers.  [default: zookeeper.connect in the file of --config]",
    )
    @click.option(
        "--config",
        metavar="FILE",
        type=FILE,
        help="Configuration file of `reassignd serve`, with the settings of the ZooKeeper connection.",
    )
    def run(zookeeper: str | None, config: Path | None, *args: P.args, **kwargs: P.kwargs) -> None:
        if zookeeper is None and config is None:
            raise click.UsageError("give --zookeeper, or --config with a file that has zookeeper.connect")
        assignments = [] if config is None else list(read_file(config))
        if zookeeper is not None:
            assignments.append(Assignment("zookeeper.connect", zookeeper, "--zookeeper"))
        asyncio.run(_connected(resolve(assignments), lambda tree: command(tree, *args, **kwargs)))

    run.__doc__, run.__name__ = command.__doc__, command.__name__
    run.__click_params__ += getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    return run


@zk.command(epilog=examples("reassignd zk submit --zookeeper zk1:2181 --reassignment-json-file plan.json"))
@with_zookeeper
@PLAN_FILE
async def submit(tree: "Tree", plan_file: Path) -> None:
    """Write a plan to /admin/reassign_partitions. Fails while there is one."""
    from backends.zookeeper.admin.orders import encode_plan
    from backends.zookeeper.znodes import paths

    plan = await _read_plan(tree, plan_file)
    if await tree.get(paths.CANCEL) is not None:
        raise CommandError(f"{paths.CANCEL} exists: wait until the cancellation is complete")
    await _create(tree, paths.REASSIGN, encode_plan(plan))
    echo(f"submitted: {counted(len(plan), 'partition')}, in {paths.REASSIGN}")


@zk.command(epilog=examples("reassignd zk queue --zookeeper zk1:2181 --reassignment-json-file plan.json"))
@with_zookeeper
@PLAN_FILE
async def queue(tree: "Tree", plan_file: Path) -> None:
    """Write a plan to /admin/reassign_partitions_queue. Partitions that are moving are rolled back first."""
    from backends.zookeeper.admin.orders import encode_plan
    from backends.zookeeper.znodes import paths

    await _require_reassignd(tree)
    plan = await _read_plan(tree, plan_file)
    await _create(tree, paths.QUEUE, encode_plan(plan))
    echo(f"queued: {counted(len(plan), 'partition')}, in {paths.QUEUE}")


@zk.command(epilog=examples("reassignd zk cancel --zookeeper zk1:2181"))
@with_zookeeper
async def cancel(tree: "Tree") -> None:
    """Cancel the pending reassignments of the plan in ZooKeeper, and withdraw the queued plan."""
    from backends.zookeeper.znodes import paths

    await _require_reassignd(tree)
    if await tree.get(paths.REASSIGN) is None and await tree.get(paths.QUEUE) is None:
        echo("no pending reassignments to cancel")
        return
    await _create(tree, paths.CANCEL, b"")
    echo("submitted the cancellation of all pending reassignments")


@zk.command(epilog=examples("reassignd zk show --zookeeper zk1:2181"))
@with_zookeeper
async def show(tree: "Tree") -> None:
    """Show the controller, the plans in ZooKeeper, and the partitions that move."""
    from backends.zookeeper.znodes import paths

    controller = await _controller(tree)
    echo(f"controller: {'none' if controller is None else controller.broker} ({_kind(controller)})")
    for name, path in (("plan", paths.REASSIGN), ("queue", paths.QUEUE)):
        for line in await _plan_lines(tree, name, path):
            echo(line)
    if await tree.get(paths.CANCEL) is not None:
        echo("cancel: requested")
    for lines in (await _moving(tree), await _children(tree)):
        for line in lines:
            echo(line)


async def _connected(settings: Settings, act: "Callable[[Tree], Awaitable[None]]") -> None:
    from backends.zookeeper.session.client import ZookeeperClient
    from backends.zookeeper.session.tree import ZookeeperError
    from backends.zookeeper.znodes.fields import ZnodeError
    from reassignd.config.zookeeper_security import security

    hosts = settings.zookeeper_connect
    client = ZookeeperClient(hosts, SESSION_SECONDS, lambda: None, security(settings))
    try:
        await client.start()
        await act(client)
    except (ZookeeperError, ZnodeError) as error:
        raise CommandError(str(error)) from error
    finally:
        await client.stop()


async def _read_plan(tree: "Tree", plan_file: Path) -> "list[Entry]":
    """Read the plan and check that its partitions exist. Raises CommandError."""
    from backends.zookeeper.admin.orders import decode_file
    from backends.zookeeper.znodes import paths
    from backends.zookeeper.znodes.fields import ZnodeError
    from backends.zookeeper.znodes.formats import decode_topic

    try:
        plan = decode_file(content_of(plan_file))
    except ZnodeError as error:
        raise CommandError(f"{plan_file}: {error}") from error
    for topic in sorted({each.topic for each in plan}):
        znode = await tree.get(paths.topic(topic))
        known = {} if znode is None else decode_topic(znode.data).partitions
        for each in plan:
            if each.topic == topic and each.partition not in known:
                raise CommandError(f"{plan_file}: there is no partition {each.key}")
    if not plan:
        raise CommandError(f"{plan_file}: the plan has no partitions")
    return plan


async def _create(tree: "Tree", path: str, data: bytes) -> None:
    from backends.zookeeper.session.tree import ConflictError, Create, ensure

    await ensure(tree, "/admin")
    try:
        await tree.multi([Create(path, data)])
    except ConflictError as conflict:
        raise CommandError(
            f"{path} exists already: wait until it is deleted (`reassignd zk show`)"
        ) from conflict


async def _controller(tree: "Tree") -> "ControllerZnode | None":
    from backends.zookeeper.znodes import paths
    from backends.zookeeper.znodes.formats import decode_controller

    znode = await tree.get(paths.CONTROLLER)
    return None if znode is None else decode_controller(znode.data)


async def _require_reassignd(tree: "Tree") -> None:
    controller = await _controller(tree)
    if controller is None or not controller.is_reassignd:
        raise CommandError(
            f"the controller is {_kind(controller)}, which does not support this command; start reassignd"
        )


def _kind(controller: "ControllerZnode | None") -> str:
    if controller is None:
        return "none"
    return "reassignd" if controller.is_reassignd else "a Kafka broker"


async def _plan_lines(tree: "Tree", name: str, path: str) -> list[str]:
    from backends.zookeeper.admin.orders import decode_plan
    from backends.zookeeper.znodes.fields import ZnodeError

    znode = await tree.get(path)
    if znode is None:
        return [f"{name}: none"]
    try:
        plan = decode_plan(znode.data)
    except ZnodeError as error:
        return [f"{name}: {path} is invalid: {error}"]
    lines = [f"{name}: {counted(len(plan), 'partition')}, written {counted(znode.version, 'time')}"]
    known = await _originals(tree)
    for each in plan:
        original = each.original or known.get(each.key)
        origin = "" if original is None else f", from {_ids(original)}"
        lines.append(f"  {each.key} to {_ids(each.replicas)}{origin}")
    return lines


async def _originals(tree: "Tree") -> "dict[TopicPartition, tuple[int, ...]]":
    """Return the original replicas in reassignd's records, which a rollback restores."""
    from backends.zookeeper.store.records import RecordChunks
    from backends.zookeeper.store.records import chunk_parent as folder_of
    from controller.model.cluster import Reassignment

    chunks, folder = RecordChunks(), folder_of(Reassignment)
    for name in await tree.children(folder) or []:
        znode = await tree.get(f"{folder}/{name}")
        if znode is not None:
            chunks.read(f"{folder}/{name}", znode.data)
    return {each.key: each.original for each in chunks.records() if isinstance(each, Reassignment)}


async def _moving(tree: "Tree") -> Iterator[str]:
    from backends.zookeeper.znodes import paths
    from backends.zookeeper.znodes.formats import decode_topic

    lines = []
    for name in sorted(await tree.children(paths.TOPICS) or []):
        znode = await tree.get(paths.topic(name))
        rows = {} if znode is None else decode_topic(znode.data).partitions
        for number, (replicas, adding, removing) in rows.items():
            if adding or removing:
                lines.append(
                    f"  {name}-{number}: {_ids(replicas)}, adding {_ids(adding)}, removing {_ids(removing)}"
                )
    return iter([f"moving: {counted(len(lines), 'partition')}", *lines])


async def _children(tree: "Tree") -> list[str]:
    """Return a line for each child of /admin/reassignments (an earlier draft of KIP-236).

    czxid identifies the reassignment; mzxid differs from it if the target was changed.
    """
    from backends.zookeeper.admin.children import decode_child
    from backends.zookeeper.znodes import paths
    from backends.zookeeper.znodes.fields import ZnodeError

    lines = []
    for topic in sorted(await tree.children(paths.REASSIGNMENTS) or []):
        for number in sorted(await tree.children(f"{paths.REASSIGNMENTS}/{topic}") or [], key=_by_number):
            path = f"{paths.REASSIGNMENTS}/{topic}/{number}"
            znode = await tree.get(path)
            if znode is None:
                continue
            try:
                to = f"to {_ids(decode_child(znode.data))}"
            except ZnodeError as error:
                to = f"is invalid: {error}"
            changed = f", changed {znode.mzxid:#x}" if znode.mzxid != znode.czxid else ""
            lines.append(f"  {path} {to}, reassignment {znode.czxid:#x}{changed}")
    return [f"children: {len(lines)}", *lines] if lines else []


def _by_number(name: str) -> tuple[int, str]:
    return (int(name) if name.isascii() and name.isdecimal() else -1, name)


def _ids(replicas: tuple[int, ...]) -> str:
    return ",".join(map(str, replicas)) or "none"
