"""Features of each inter.broker.protocol.version that a controller needs (Kafka: MetadataVersion, ApiVersion)."""

import re
from typing import NamedTuple

from backends.broker_commands.requests import Versions

_PATTERN = re.compile(r"(\d+)\.(\d+)(?:\.\d+)?(?:-IV(\d+))?")
_LATEST = 99

OLDEST = "2.2"


class BrokerProtocol(NamedTuple):
    """`versions` are the versions of the controller's requests to brokers."""

    versions: Versions
    isr_by_request: bool
    """Leaders send AlterPartition to change an ISR (KIP-497), instead of writing it to ZooKeeper."""
    topic_ids: bool
    """Topics have ids (KIP-516)."""


_LEADER_AND_ISR = {(2, 2, 0): 2, (2, 4, 0): 3, (2, 4, 1): 4, (2, 8, 1): 5, (3, 2, 0): 6, (3, 4, 0): 7}
_UPDATE_METADATA = {(2, 2, 0): 5, (2, 4, 1): 6, (2, 8, 1): 7, (3, 4, 0): 8}
_STOP_REPLICA = {(2, 2, 0): 1, (2, 4, 1): 2, (2, 6, 0): 3, (3, 4, 0): 4}
_ISR_BY_REQUEST = (2, 7, 2)
_TOPIC_IDS = (2, 8, 0)


def parse_protocol(version: str) -> BrokerProtocol:
    """Parse `2.4-IV0`, `3.9` or `3.9.1`; without an IV, the release's last IV counts. Raises ValueError."""
    matched = _PATTERN.fullmatch(version.strip())
    if matched is None:
        raise ValueError(f"{version!r} is not an inter.broker.protocol.version such as 2.4-IV0 or 3.9")
    major, minor, internal = matched.groups()
    level = (int(major), int(minor), _LATEST if internal is None else int(internal))
    if level < (2, 2, 0) or level >= (4, 0, 0):
        raise ValueError(
            f"inter.broker.protocol.version {version} is not supported; supported are {OLDEST} to 3.9"
        )
    versions = Versions(
        _request_version(_LEADER_AND_ISR, level),
        _request_version(_UPDATE_METADATA, level),
        _request_version(_STOP_REPLICA, level),
    )
    return BrokerProtocol(versions, level >= _ISR_BY_REQUEST, level >= _TOPIC_IDS)


def _request_version(table: dict[tuple[int, int, int], int], level: tuple[int, int, int]) -> int:
    return next(version for since, version in reversed(table.items()) if level >= since)
