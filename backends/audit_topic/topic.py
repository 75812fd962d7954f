"""The audit topic: its name, its creation, and writing to it."""

from collections.abc import Sequence

from backends.client.ports import BrokerClient
from backends.state_topic.ports import StateLog
from backends.state_topic.topic import CLEANUP, COMPRESSION, create_topic, find_topic
from controller.configs.names import UNCLEAN_ELECTION
from protocol.record_batch import BatchRecord, Producer

NO_PRODUCER, NO_SEQUENCE = Producer(-1, -1), -1
"""Entries are written without a producer id: a repeated batch is skipped by the ids of its entries."""


def audit_topic(state_topic: str) -> str:
    """Return the name of the audit topic that belongs to a state topic."""
    return f"{state_topic}_audit"


async def open_audit_topic(
    client: BrokerClient, state_topic: str, replication: int, retention_ms: int
) -> None:
    """Create the topic if it does not exist. Raises StateTopicError and BrokerError."""
    name = audit_topic(state_topic)
    if await find_topic(client, name) is None:
        settings = {
            CLEANUP: "delete",
            COMPRESSION: "uncompressed",
            UNCLEAN_ELECTION: "false",
            "retention.ms": str(retention_ms),
        }
        await create_topic(client, name, replication, settings)


async def append_entries(log: StateLog, entries: Sequence[BatchRecord]) -> None:
    """Write a batch of entries. Raises OSError and FencedError."""
    await log.append(entries, NO_PRODUCER, NO_SEQUENCE)
