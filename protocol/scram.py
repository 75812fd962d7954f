"""The SASL/SCRAM mechanisms that Kafka supports (KIP-84; org.apache.kafka.clients.admin.ScramMechanism)."""

from typing import NamedTuple


class ScramMechanism(NamedTuple):
    """`number` is the one in requests (KIP-554), `hash_name` is Python's."""

    number: int
    name: str
    hash_name: str


SHA_256 = ScramMechanism(1, "SCRAM-SHA-256", "sha256")
SHA_512 = ScramMechanism(2, "SCRAM-SHA-512", "sha512")

SCRAM_MECHANISMS = {SHA_256.name: SHA_256, SHA_512.name: SHA_512}
"""By name."""
