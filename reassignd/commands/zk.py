"""The verb `zk`: plans by znode, whoever is the controller (KIP-236; kafka-reassign-partitions --zookeeper before Kafka 3).

`submit` writes what every controller takes. `cancel` and `queue` are for a reassignd in office: no broker of Kafka's heeds
them, and they are refused then, rather than left lying.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import click

from reassignd.commands import plans
from reassignd.commands.options import FILE
from reassignd.commands.text import say
from reassignd.config.config import Assignment, Settings, read_file, resolve
from reassignd.errors import CommandError

if TYPE_CHECKING:
    from backends.zookeeper.admin.plans import Entry
    from backends.zookeeper.session.tree import Tree
    from controller.model.cluster import TopicPartition

P = ParamSpec("P")

SESSION_SECONDS = 6.0

PLAN = click.option(
    "--reassignment-json-file",
    "file",
    metavar="FILE",
    type=FILE,
    required=True,
    help="A plan, as Kafka's tool takes it.",
)


@click.group()
def zk() -> None:
    """Plans by znode, in a cluster in ZooKeeper mode."""


def asks_zookeeper(
    verb: Callable[Concatenate["Tree", P], Awaitable[None]],
) -> Callable[..., None]:
    """Give the verb the tree of znodes that `--zookeeper` names, or `--config`."""

    @click.option(
        "--zookeeper",
        metavar="HOST:PORT/CHROOT",
        help="As the brokers have it; when not given, it is that of --config.",
    )
    @click.option(
        "--config",
        metavar="FILE",
        type=FILE,
        help="The file of `reassignd serve`: it says how to come to ZooKeeper.",
    )
    def run(zookeeper: str | None, config: Path | None, *args: P.args, **kwargs: P.kwargs) -> None:
        if zookeeper is None and config is None:
            raise click.UsageError("give --zookeeper, or a --config that has zookeeper.connect")
        assignments = [] if config is None else list(read_file(config))
        if zookeeper is not None:
            assignments.append(Assignment("zookeeper.connect", zookeeper, "--zookeeper"))
        asyncio.run(_connected(resolve(assignments), lambda tree: verb(tree, *args, **kwargs)))

    run.__doc__, run.__name__ = verb.__doc__, verb.__name__
    run.__click_params__ += getattr(verb, "__click_params__", [])  # type: ignore[attr-defined]
    return run


@zk.command()
@asks_zookeeper
@PLAN
async def submit(tree: "Tree", file: Path) -> None:
    """Leave a plan for the controller, when there is none."""
    from backends.zookeeper.admin.plans import encode_plan
    from backends.zookeeper.znodes import paths

    plan = await _read_plan(tree, file)
    if await tree.get(paths.CANCEL) is not None:
        raise CommandError(f"{paths.CANCEL} exists: wait until what is pending has been cancelled")
    await _create(tree, paths.REASSIGN, encode_plan(plan))
    say(f"submitted: {len(plan)} partitions, in {paths.REASSIGN}")


@zk.command()
@asks_zookeeper
@PLAN
async def queue(tree: "Tree", file: Path) -> None:
    """Leave a plan to run behind what runs; partitions that move are rolled back first."""
    from backends.zookeeper.admin.plans import encode_plan
    from backends.zookeeper.znodes import paths

    await _check_office(tree)
    plan = await _read_plan(tree, file)
    await _create(tree, paths.QUEUE, encode_plan(plan))
    say(f"queued: {len(plan)} partitions, in {paths.QUEUE}")


@zk.command()
@asks_zookeeper
async def cancel(tree: "Tree") -> None:
    """Take back what is pending of the plan in ZooKeeper."""
    from backends.zookeeper.znodes import paths

    await _check_office(tree)
    if await tree.get(paths.REASSIGN) is None:
        say("no pending reassignments to cancel")
        return
    await _create(tree, paths.CANCEL, b"")
    say("submitted the cancellation of all pending reassignments")


@zk.command()
@asks_zookeeper
async def show(tree: "Tree") -> None:
    """Who the controller is, what was left for it, and what moves."""
    from backends.zookeeper.znodes import paths

    office = await _office(tree)
    say(f"controller: {'nobody' if office is None else office.broker} ({_whose(office)})")
    for name, path in (("plan", paths.REASSIGN), ("queue", paths.QUEUE)):
        for line in await _plan_lines(tree, name, path):
            say(line)
    if await tree.get(paths.CANCEL) is not None:
        say("cancel: asked for")
    for lines in (await _moving(tree), await _children(tree)):
        for line in lines:
            say(line)


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


async def _read_plan(tree: "Tree", file: Path) -> "list[Entry]":
    """The file's entries, as far as a controller takes them. Raises CommandError."""
    from backends.zookeeper.admin.plans import decode_file
    from backends.zookeeper.znodes import paths
    from backends.zookeeper.znodes.fields import ZnodeError
    from backends.zookeeper.znodes.formats import decode_topic

    try:
        plan = decode_file(plans.read(file))
    except ZnodeError as error:
        raise CommandError(f"{file}: {error}") from error
    for topic in sorted({each.topic for each in plan}):
        znode = await tree.get(paths.topic(topic))
        known = {} if znode is None else decode_topic(znode.data).partitions
        for each in plan:
            if each.topic == topic and each.partition not in known:
                raise CommandError(f"{file}: there is no partition {each.key}")
    if not plan:
        raise CommandError(f"{file}: it names no partitions")
    return plan


async def _create(tree: "Tree", path: str, data: bytes) -> None:
    from backends.zookeeper.session.tree import ConflictError, Create, ensure

    await ensure(tree, "/admin")
    try:
        await tree.multi([Create(path, data)])
    except ConflictError as conflict:
        raise CommandError(
            f"{path} exists already: wait until it is gone (`reassignd zk show`)"
        ) from conflict


async def _office(tree: "Tree") -> Any:
    from backends.zookeeper.znodes import paths
    from backends.zookeeper.znodes.formats import decode_controller

    znode = await tree.get(paths.CONTROLLER)
    return None if znode is None else decode_controller(znode.data)


async def _check_office(tree: "Tree") -> None:
    office = await _office(tree)
    if office is None or not office.ours:
        raise CommandError(f"the controller is {_whose(office)}, which does not know this; start reassignd")


def _whose(office: Any) -> str:
    if office is None:
        return "nobody"
    return "reassignd" if office.ours else "a broker of Kafka's"


async def _plan_lines(tree: "Tree", name: str, path: str) -> list[str]:
    from backends.zookeeper.admin.plans import decode_plan
    from backends.zookeeper.znodes.fields import ZnodeError

    znode = await tree.get(path)
    if znode is None:
        return [f"{name}: none"]
    try:
        plan = decode_plan(znode.data)
    except ZnodeError as error:
        return [f"{name}: {path} makes no sense: {error}"]
    lines = [f"{name}: {len(plan)} partitions, written {znode.version} times"]
    known = await _originals(tree)
    for each in plan:
        original = each.original or known.get(each.key)
        was = "" if original is None else f", from {_ids(original)}"
        lines.append(f"  {each.key} to {_ids(each.replicas)}{was}")
    return lines


async def _originals(tree: "Tree") -> "dict[TopicPartition, tuple[int, ...]]":
    """What a rollback restores, by reassignd's own records."""
    from backends.zookeeper.store.record_chunks import RecordChunks
    from backends.zookeeper.store.record_chunks import chunk_parent as folder_of
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
    return iter([f"moving: {len(lines)} partitions", *lines])


async def _children(tree: "Tree") -> list[str]:
    """KIP-236's earlier draft: which reassignment a child is, and whether it was changed, tell its zxids."""
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
                to = f"makes no sense: {error}"
            changed = f", changed {znode.mzxid:#x}" if znode.mzxid != znode.czxid else ""
            lines.append(f"  {path} {to}, reassignment {znode.czxid:#x}{changed}")
    return [f"children: {len(lines)}", *lines] if lines else []


def _by_number(name: str) -> tuple[int, str]:
    return (int(name) if name.isascii() and name.isdecimal() else -1, name)


def _ids(replicas: tuple[int, ...]) -> str:
    return ",".join(map(str, replicas)) or "none"
