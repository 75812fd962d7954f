"""The SASL/SCRAM mechanisms that Kafka supports (KIP-84; org.apache.kafka.clients.admin.ScramMechanism)."""

from typing import NamedTuple


class ScramMechanism(NamedTuple):
    """`number` is the one in requests (KIP-554), `hash_name` is Python's."""

    number: int
    name: str
    hash_name: str


SCRAM_MECHANISMS = (
    ScramMechanism(1, "SCRAM-SHA-256", "sha256"),
    ScramMechanism(2, "SCRAM-SHA-512", "sha512"),
)
