"""The outcomes that the controller gives: Kafka's error numbers as far as it uses them, and `Outcome`.

The numbers are Kafka's public protocol (org.apache.kafka.common.protocol.Errors); `protocol.errors` has them all,
but the controller does not know the wire.
"""

from enum import IntEnum
from typing import NamedTuple


class Error(IntEnum):
    """Kafka's error numbers, those that a decision can end with."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 3
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    STALE_CONTROLLER_EPOCH = 11
    INVALID_TOPIC = 17
    CLUSTER_AUTHORIZATION_FAILED = 31
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    POLICY_VIOLATION = 44
    REASSIGNMENT_IN_PROGRESS = 60
    FENCED_LEADER_EPOCH = 74
    STALE_BROKER_EPOCH = 77
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    RESOURCE_NOT_FOUND = 91
    INVALID_UPDATE_VERSION = 95
    UNKNOWN_TOPIC_ID = 100
    BROKER_ID_NOT_REGISTERED = 102
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108


class Outcome(NamedTuple):
    """How one requested thing ended; a refusal is a value, so that one bad row spoils no other."""

    error: Error = Error.NONE
    message: str | None = None

    @property
    def ok(self) -> bool:
        """It was done."""
        return self.error is Error.NONE

    @property
    def text(self) -> str:
        """What is wrong, for people."""
        return self.message or self.error.name


DONE = Outcome()
