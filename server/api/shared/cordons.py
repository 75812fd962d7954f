"""Whether brokers before a gateway are cordoned as asked (KIP-1066). The brokers themselves are asked."""

import asyncio
from collections.abc import Collection

from controller.execution.cordons import EVERY_DIRECTORY
from controller.gateway.events import Measured
from controller.model.cluster import ResourceType
from controller.model.configs import CORDONED_LOG_DIRS
from controller.state.state import State
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from server.api.shared.call import Call

PATIENCE_SECONDS = 10.0
"""How long the controller of Kafka may take until it follows the config."""
PAUSE_SECONDS = 0.2
UNTIL_STOPPED = "it can get new partitions until it is stopped"


async def follow_cordons(call: Call, cordon: Collection[int], lift: Collection[int]) -> list[str]:
    """Wait until these brokers are cordoned, and those are not; return a line for each one that is not so.

    Only Kafka cordons: there is nothing to wait for where this server places partitions.
    """
    if not call.state.mode.is_gateway:
        return []
    asked = [(broker, True) for broker in sorted(cordon)] + [(broker, False) for broker in sorted(lift)]
    lines = await asyncio.gather(*(_problem(call, broker, wanted=wanted) for broker, wanted in asked))
    return [line for line in lines if line]


async def _problem(call: Call, broker: int, *, wanted: bool) -> str:
    """Return why the broker is not, or is still cordoned; empty if it is as wanted."""
    state, cordoned = call.state, None
    if broker not in state.cluster.live:
        return ""
    for _ in range(max(1, round(PATIENCE_SECONDS / PAUSE_SECONDS))):
        if reason := state.gateway.cordon_refusals.get(broker):
            refused = f"broker {broker} is not cordoned, Kafka refuses it ({reason}): {UNTIL_STOPPED}"
            return refused if wanted else ""
        if (cordoned := await _is_cordoned(call, broker)) is wanted:
            return ""
        await asyncio.sleep(PAUSE_SECONDS)
    if not wanted:
        return f"broker {broker} is still cordoned: others have set {CORDONED_LOG_DIRS}, or Kafka is slow"
    if cordoned is None:
        return f"broker {broker} does not tell whether it is cordoned"
    return f"broker {broker} is not cordoned, {_why(state, broker)}: {UNTIL_STOPPED}"


def _why(state: State, broker: int) -> str:
    lease = state.throttle.leases.get((ResourceType.BROKER, str(broker), CORDONED_LOG_DIRS))
    if lease is None or EVERY_DIRECTORY not in lease.owned:
        return f"others have set its {CORDONED_LOG_DIRS}"
    return f"Kafka has accepted {CORDONED_LOG_DIRS} without effect"


async def _is_cordoned(call: Call, broker: int) -> bool | None:
    """Return whether all directories of the broker are cordoned; None if it does not answer.

    Proposals know it from now on, before the next measurement.
    """
    answer = await call.services.sizes.describe(broker, DescribeLogDirsRequest([]))
    cordoned = {row.log_dir: row.is_cordoned for row in (answer.results if answer else ()) if row.log_dir}
    known = call.state.cluster.disks.get(broker, ())
    shown = [disk._replace(cordoned=cordoned.get(disk.path, disk.cordoned)) for disk in known]
    if shown != list(known):
        await call.submit(Measured({}, {broker: shown}))
    return all(cordoned.values()) if cordoned else None
