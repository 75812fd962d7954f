"""`GET /load`: what each broker and each host holds and carries."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from msgspec import Meta

from common.tasks import in_slices
from controller.state.cluster import Disk
from server.cruisecontrol.shared.access import ClientRole
from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.capacities import MEGABYTE
from server.cruisecontrol.shared.loads import (
    NOT_KNOWN,
    BrokerRow,
    ClusterLoad,
    DiskLoad,
    broker_rows,
    cluster_load,
)
from server.cruisecontrol.shared.parameters import Parameters

NEWEST = "No effect: the answer is about this moment."


class LoadParameters(Parameters, kw_only=True):
    """What is shown of the brokers."""

    populate_disk_info: Annotated[bool, Meta(description="With the log directories of each broker.")] = False
    capacity_only: Annotated[bool, Meta(description="Only capacities: all that is used is 0.")] = False
    allow_capacity_estimation: Annotated[bool, Meta(description="No effect: nothing is estimated.")] = True
    start: Annotated[int, Meta(description=NEWEST)] = -1
    end: Annotated[int, Meta(description=NEWEST)] = -1
    time: Annotated[int, Meta(description=NEWEST)] = -1


class LoadAnswer(ClusterLoad):
    """The brokers, and the hosts that they run on."""

    version: int = 1


async def load(call: CruiseControlCall, given: LoadParameters) -> LoadAnswer:
    """Return what each broker holds and carries."""
    rows = await broker_rows(call.context)
    if given.capacity_only:
        rows = [_unused(row) for row in rows]
    shown = cluster_load(rows)
    if given.populate_disk_info:
        disks = (await call.context.services.inventories.recent()).disks
        held = await _by_directory(call)
        for broker in shown.brokers:
            broker.disk_state = {
                disk.path: _disk(disk, held.get((broker.broker, disk.path), _Held()))
                for disk in disks.get(broker.broker, ())
            }
    return LoadAnswer(shown.hosts, shown.brokers)


def _unused(row: BrokerRow) -> BrokerRow:
    return replace(
        row,
        replicas=0,
        leaders=0,
        bytes=0,
        leader_in=0.0,
        follower_in=0.0,
        bytes_out=0.0,
        potential_out=0.0,
        cpu=0.0,
    )


@dataclass(slots=True)
class _Held:
    """What a directory holds."""

    replicas: int = 0
    leaders: int = 0
    bytes: int = 0


async def _by_directory(call: CruiseControlCall) -> Mapping[tuple[int, str], _Held]:
    """Return what brokers report of the directories of their replicas, by broker and path."""
    held = defaultdict[tuple[int, str], _Held](_Held)
    stored_of = call.context.services.sizes.stored
    async for partition in in_slices(list(call.state.cluster.all_partitions())):
        stored = stored_of(partition.key)
        if stored is None:
            continue
        for broker, path, size in zip(stored.brokers, stored.log_dirs, stored.sizes, strict=True):
            each = held[broker, path]
            each.replicas += 1
            each.leaders += broker == partition.leader
            each.bytes += size
    return held


def _disk(disk: Disk, held: _Held) -> DiskLoad:
    used = held.bytes if held.replicas or disk.total < 0 else disk.total - disk.usable
    percentage = 100.0 * used / disk.total if disk.total > 0 else NOT_KNOWN
    return DiskLoad(used / MEGABYTE, percentage, held.leaders, held.replicas or disk.replicas)


ENDPOINTS = (
    Endpoint(
        "GET",
        "load",
        "Show what each broker and host holds and carries.",
        LoadParameters,
        load,
        role=ClientRole.USER,
    ),
)
