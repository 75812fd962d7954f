"""What the log of a state topic shows after a campaign.

Batches of earlier instances after a claim, blocked partitions.

The rule is stricter, and simpler, than that of `backends.state_topic.history`, which it checks: one producer
id, whose epoch increases with each claim. The topic of a campaign is not compacted, so each batch that was
written is there.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from backends.state_topic.claim import CLAIM_KEY
from backends.state_topic.kafka_log import KafkaStateLog
from backends.upstream.client import UpstreamClient
from protocol.record_batch import Batch, Producer


@dataclass
class Findings:
    """What is in the log."""

    batches: int = 0
    claims: int = 0
    """Claims of new epochs."""
    late: list[str] = field(default_factory=list)
    """Batches, and commits of transactions, of another producer than that of the newest claim before them."""
    commits: int = 0
    """Transactions."""
    blocked: list[str] = field(default_factory=list)
    """Rows of blocked partitions."""
    _producer: Producer | None = None

    def add(self, batches: Iterable[Batch]) -> None:
        """Read further batches."""
        for batch in batches:
            if not batch.header.control:
                self.batches += 1
                self._add_records(batch)
            elif batch.commits():
                self.commits += 1
                self._check(batch, "commit")

    def _add_records(self, batch: Batch) -> None:
        records = [record for _, record in batch.records()]
        if any(record.key == CLAIM_KEY for record in records) and self._follows(batch.header.producer):
            self.claims += 1
            self._producer = batch.header.producer
        self._check(batch, f"rows {[record.key for record in records]}")
        self.blocked += [
            f"{record.key!r}: {record.value!r}"
            for record in records
            if record.value and _blocks(record.value)
        ]

    def _follows(self, producer: Producer) -> bool:
        last = self._producer
        return last is None or (producer.id == last.id and producer.epoch > last.epoch)

    def _check(self, batch: Batch, what: str) -> None:
        header = batch.header
        if header.producer != self._producer:
            self.late.append(f"offset {header.offset}, {header.producer} after {self._producer}: {what}")


def _blocks(value: bytes) -> bool:
    row = json.loads(value)
    return isinstance(row, dict) and bool(row.get("blocked"))


async def read_findings(topic: str, client: UpstreamClient) -> Findings:
    """Read the whole log."""
    log, findings, offset = KafkaStateLog(topic, client, client), Findings(), 0
    while True:
        fetched = await log.fetch(offset)
        # A fetch begins with the whole batch that has the offset.
        batches = [batch for batch in fetched.batches if batch.header.last_offset >= offset]
        findings.add(batches)
        if batches:
            offset = batches[-1].header.last_offset + 1
        if offset >= fetched.end_offset:
            return findings
