"""`/v1/placement`: the brokers and log directories that get nothing new, such as drained ones."""

from collections.abc import Collection, Iterable
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from controller.model.configs import EXCLUDED_BROKERS, EXCLUDED_DIRS, ConfigChange, ConfigOp
from controller.model.disks import BrokerDir
from server.api.shared.call import Call, Endpoint
from server.api.shared.cluster_configs import alter_cluster_configs
from server.api.shared.cordons import can_exclude_dirs, follow_cordons, follow_dirs
from server.api.shared.errors import HttpError
from server.api.shared.proposals import NamedDir, dirs_of


class PlacementBroker(Struct):
    """A broker that replicas can be placed on."""

    id: int
    rack: str | None
    live: bool


class Placement(Struct):
    """The brokers, and those that new partitions are not placed on."""

    excluded: list[int]
    excluded_dirs: Annotated[list[NamedDir], Meta(description="Log directories that get no new replicas.")]
    brokers: list[PlacementBroker]
    notes: Annotated[
        list[str],
        Meta(
            description="After a change before a running Kafka: a line for each broker that Kafka does not "
            "cordon, or still cordons (KIP-1066), and for its directories."
        ),
    ] = []


class PlacementChange(Struct, forbid_unknown_fields=True):
    """Changes of the excluded brokers and directories."""

    exclude: Annotated[list[int], Meta(description="Brokers to exclude.")] = []
    allow: Annotated[list[int], Meta(description="Brokers that are not excluded any more.")] = []
    exclude_dirs: Annotated[list[NamedDir], Meta(description="Log directories to exclude.")] = []
    allow_dirs: Annotated[
        list[NamedDir], Meta(description="Log directories that are not excluded any more.")
    ] = []


async def placement(call: Call) -> Placement:
    """Return the brokers, and what is excluded of them."""
    state = call.state
    brokers = [
        PlacementBroker(number, broker.rack, number in state.cluster.live)
        for number, broker in sorted(state.cluster.brokers.items())
    ]
    dirs = [
        NamedDir(broker, path)
        for broker, paths in sorted(state.settings.excluded_dirs.items())
        for path in sorted(paths)
    ]
    return Placement(sorted(state.settings.excluded_brokers), dirs, brokers)


async def change(call: Call) -> Placement:
    """Exclude brokers and log directories, or end their exclusion.

    It is durable, and applies to replicas that are created later.
    """
    body, state = await call.body(PlacementChange), call.state
    for broker in [*body.exclude, *(each.broker for each in body.exclude_dirs)]:
        if broker not in state.cluster.brokers:
            raise HttpError(404, f"There is no broker {broker}.")
    if both := sorted({*body.exclude} & {*body.allow}):
        raise HttpError(400, f"broker {both[0]} is in both lists")
    exclude, allow = dirs_of(body.exclude_dirs), dirs_of(body.allow_dirs)
    if twice := sorted({*exclude} & {*allow}):
        raise HttpError(400, f"{twice[0]} is in both lists")
    if odd := [each for each in exclude if not _can_be_listed(each)]:
        raise HttpError(400, f"{odd[0]}: a directory whose path has a comma cannot be excluded")
    # All that is excluded in one change, which is refused as a whole.
    await _alter(call, ConfigOp.APPEND, body.exclude, exclude)
    await _alter(call, ConfigOp.SUBTRACT, body.allow, allow)
    cordons = await follow_cordons(call, body.exclude, body.allow)
    notes = [*cordons, *await follow_dirs(call, exclude, allow)]
    return replace(await placement(call), notes=notes)


async def alter_excluded(call: Call, exclude: Collection[int], allow: Collection[int]) -> None:
    """Change the excluded brokers."""
    await _alter(call, ConfigOp.APPEND, exclude, ())
    await _alter(call, ConfigOp.SUBTRACT, allow, ())


async def exclude_dirs(call: Call, dirs: Collection[BrokerDir]) -> list[str]:
    """Exclude the directories; return a line for each broker where Kafka does not follow."""
    await _alter(call, ConfigOp.APPEND, (), [each for each in dirs if _can_be_listed(each)])
    return await follow_dirs(call, dirs)


def still_allowed(call: Call, dirs: Iterable[NamedDir]) -> list[NamedDir]:
    """Return the directories that `exclude_dirs` would exclude: not those that are excluded already."""
    if not can_exclude_dirs(call):
        return []
    excluded = call.state.settings.excluded_dirs
    allowed = (each for each in dirs if each.dir not in excluded.get(each.broker, ()))
    return [each for each in allowed if _can_be_listed(BrokerDir(each.broker, each.dir))]


def _can_be_listed(each: BrokerDir) -> bool:
    """Return whether a config can have it: the items of a list are separated by commas."""
    return "," not in each.path


async def _alter(call: Call, op: ConfigOp, brokers: Collection[int], dirs: Collection[BrokerDir]) -> None:
    """Change the lists of what is excluded, as single items: concurrent changes are not lost."""
    if op is ConfigOp.APPEND and not can_exclude_dirs(call):
        dirs = ()
    items = ((EXCLUDED_BROKERS, brokers), (EXCLUDED_DIRS, dirs))
    changes = [ConfigChange(key, op, ",".join(map(str, sorted(each)))) for key, each in items if each]
    if changes:
        await alter_cluster_configs(call, changes)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/placement",
        "Get the brokers, and those that nothing new is placed on, and such log directories.",
        placement,
        Placement,
    ),
    Endpoint(
        "POST",
        "/v1/placement",
        "Exclude brokers and log directories from the placement of new replicas, or end that.",
        change,
        Placement,
        PlacementChange,
    ),
)
