"""API keys with their request and response classes, versions and header versions.

Message modules are imported when an API is first asked for, so that a process pays only for the messages it
uses.
"""

from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib import import_module
from typing import Any

from protocol.codec.schema import Message, version_range

OTHER_API = -1
"""Stands for all keys that no API has, where requests are counted."""


class ApiKey(IntEnum):
    """The API keys that this package has messages for."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    INIT_PRODUCER_ID = 22
    ADD_PARTITIONS_TO_TXN = 24
    END_TXN = 26
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    DESCRIBE_CLIENT_QUOTAS = 48
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    ALTER_PARTITION = 56
    DESCRIBE_CLUSTER = 60
    ALLOCATE_PRODUCER_IDS = 67
    LIST_TRANSACTIONS = 66
    DESCRIBE_TOPIC_PARTITIONS = 75


_KEYS = frozenset(ApiKey)


@dataclass(frozen=True, slots=True)
class Api:
    """One API: its classes and the versions that their schemas know."""

    key: ApiKey
    request: Message
    response: Message

    @property
    def versions(self) -> range:
        """All versions that both schemas know."""
        return version_range(self.request.versions)

    def request_header_version(self, version: int) -> int:
        """Return the version of the request's header: ControlledShutdown v0 has no client id."""
        if self.key == ApiKey.CONTROLLED_SHUTDOWN and version == 0:
            return 0
        return 2 if self.request.is_flexible(version) else 1

    def response_header_version(self, version: int) -> int:
        """Return the version of the response's header. ApiVersions must be readable in all (KIP-511)."""
        if self.key == ApiKey.API_VERSIONS:
            return 0
        return 1 if self.response.is_flexible(version) else 0


@cache
def _api(key: ApiKey) -> Api:
    module = f"{__package__}.messages.{key.name.lower()}"
    request: Any = import_module(f"{module}_request")
    response: Any = import_module(f"{module}_response")
    return Api(key, request.SCHEMA, response.SCHEMA)


def find_api(key: int) -> Api | None:
    """Return the API with this key, or None if there are no messages for it."""
    return _api(ApiKey(key)) if key in _KEYS else None
