"""Whether brokers before a gateway are cordoned as asked (KIP-1066). The brokers themselves are asked."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from common.wording import some
from controller.execution.cordons import EVERY_DIRECTORY
from controller.gateway.events import Measured
from controller.model.cluster import ResourceType
from controller.model.configs import CORDONED_LOG_DIRS, EXCLUDED_DIRS
from controller.model.disks import BrokerDir, paths_by_broker
from controller.state.state import State
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from server.api.shared.call import Call

PATIENCE_SECONDS = 10.0
"""How long the controller of Kafka may take until it follows the config."""
PAUSE_SECONDS = 0.2
NAMED = 5
"""Directories that a line names."""


class _Asked(NamedTuple):
    """A broker that is to be cordoned, or not any more."""

    broker: int
    cordoned: bool
    paths: Sequence[str] = ()
    """Only these of its directories; none for all."""

    def __str__(self) -> str:
        if not self.paths:
            return f"broker {self.broker}"
        return f"{some(self.paths, NAMED)} of broker {self.broker}"

    @property
    def end(self) -> str:
        """What happens without the cordon."""
        what = "replicas until it is removed" if self.paths else "partitions until it is stopped"
        return f"it can get new {what}"

    def differing(self, shown: Mapping[str, bool]) -> list[str]:
        """Return the directories that are not as asked. All are, if one is enough to get partitions."""
        if not self.paths:
            return [] if all(shown.values()) is self.cordoned else [*shown]
        return [path for path in self.paths if shown.get(path, False) is not self.cordoned]


async def follow_cordons(call: Call, cordon: Collection[int], lift: Collection[int]) -> list[str]:
    """Wait until these brokers are cordoned, and those are not; return a line for each one that is not so.

    Only Kafka cordons: there is nothing to wait for where this server places partitions.
    """
    if not call.state.mode.is_gateway:
        return []
    asked = [_Asked(broker, True) for broker in sorted(cordon)]
    return await _follow(call, [*asked, *(_Asked(broker, False) for broker in sorted(lift))])


async def follow_dirs(call: Call, cordon: Iterable[BrokerDir], lift: Iterable[BrokerDir] = ()) -> list[str]:
    """Wait until these directories are cordoned, and those are not.

    Return a line for each broker where that is not so.
    """
    asked = [
        _Asked(broker, cordoned, paths)
        for dirs, cordoned in ((cordon, True), (lift, False))
        for broker, paths in sorted(paths_by_broker(dirs).items())
    ]
    if call.state.mode.is_gateway:
        return await _follow(call, asked)
    if can_exclude_dirs(call):
        return []
    why = "is not cordoned, its Kafka is older than 4.3"
    return [f"{each} {why}: {each.end}" for each in asked if each.cordoned]


def can_exclude_dirs(call: Call) -> bool:
    """Return whether there is somebody to keep new replicas out of a directory.

    In ZooKeeper mode, brokers that are older than KIP-1066 choose the directories.
    """
    return call.state.mode.is_gateway or call.services.brokers is not None


async def _follow(call: Call, asked: Iterable[_Asked]) -> list[str]:
    lines = await asyncio.gather(*(_problem(call, each) for each in asked))
    return [line for line in lines if line]


async def _problem(call: Call, asked: _Asked) -> str:
    """Return why the broker is not, or is still cordoned; empty if it is as wanted."""
    state, broker = call.state, asked.broker
    if broker not in state.cluster.live:
        return ""
    differing: Sequence[str] | None = None
    for _ in range(max(1, round(PATIENCE_SECONDS / PAUSE_SECONDS))):
        if reason := state.gateway.cordon_refusals.get(broker):
            refused = f"{asked} is not cordoned, Kafka refuses it ({reason}): {asked.end}"
            return refused if asked.cordoned else ""
        shown = await _shown(call, broker)
        differing = asked.differing(shown) if shown else None
        if differing == []:
            return ""
        await asyncio.sleep(PAUSE_SECONDS)
    if asked.paths and differing:
        asked = asked._replace(paths=differing)
    if not asked.cordoned:
        return f"{asked} is still cordoned: others have set {CORDONED_LOG_DIRS}, or Kafka is slow"
    if differing is None:
        return f"broker {broker} does not report whether it is cordoned"
    return f"{asked} is not cordoned, {_why(state, asked)}: {asked.end}"


def _why(state: State, asked: _Asked) -> str:
    if not {*asked.paths} <= {*state.settings.excluded_dirs.get(asked.broker, ())}:
        return f"{EXCLUDED_DIRS} has no room for it"
    resource = (ResourceType.BROKER, str(asked.broker))
    lease = state.throttle.leases.get((*resource, CORDONED_LOG_DIRS))
    if lease is None or not {*(asked.paths or (EVERY_DIRECTORY,))} <= {*lease.owned}:
        if resource in state.gateway.confirmed_throttles:
            return f"others have set its {CORDONED_LOG_DIRS}"
        return "its configs cannot be read or altered (see the log)"
    return f"Kafka has accepted {CORDONED_LOG_DIRS} without effect"


async def _shown(call: Call, broker: int) -> Mapping[str, bool]:
    """Return which directories of the broker are cordoned; none if it does not answer.

    Proposals know it from now on, before the next measurement.
    """
    answer = await call.services.sizes.describe(broker, DescribeLogDirsRequest([]))
    cordoned = {row.log_dir: row.is_cordoned for row in (answer.results if answer else ()) if row.log_dir}
    known = call.state.cluster.disks.get(broker, ())
    shown = [disk._replace(cordoned=cordoned.get(disk.path, disk.cordoned)) for disk in known]
    if shown != list(known):
        await call.submit(Measured({}, {broker: shown}))
    return cordoned
