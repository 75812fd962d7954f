"""What instances send to their cluster: who has claimed a term, who sends steps, and whether he may.

It knows only the bytes that pass `campaigns.recording_proxy`, so it shares no code with the lease that it
checks.
"""

import re
from typing import NamedTuple

from common.error_codes import ErrorCode
from protocol.apis import ApiKey
from protocol.codec.schema import ZERO_UUID
from protocol.frames import decode_request, decode_response, parse_request, parse_response
from protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from protocol.messages.produce_request import ProduceRequest
from protocol.messages.produce_response import ProduceResponse

CLAIM = re.compile(rb'\["claim"\].*?"instance":"([^"]+)","term":([0-9]+)', re.DOTALL)
WRITTEN = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
"""Codes of a batch that is in the log."""


class Batch(NamedTuple):
    """A batch of the state topic in flight."""

    version: int
    """Of the request."""
    term: int
    """The term that it claims; 0 if it is no claim."""
    arrived: float


class LateRow(NamedTuple):
    """Rows of an instance after the claim of another one."""

    pid: int
    rows: int
    term: int
    """The newest term then."""


class UnleasedRow(NamedTuple):
    """Rows of an instance more than a session after its last acknowledged batch."""

    pid: int
    rows: int
    seconds: float
    """Since that batch."""


class StepRecord:
    """`session` is in seconds. Times are those of the proxy, between which a request has arrived.

    A step has no lease if it has arrived more than a session after the last acknowledged batch. A lease is
    shorter than a session by 0.3 of it, so an instance may also have been slow between its check of the lease
    and the sending.
    """

    def __init__(self, topic: str, session: float) -> None:
        self._topic, self._session = topic, session
        self._topic_id = ZERO_UUID
        self._written: dict[int, float] = {}
        """Process -> arrival of the last batch whose acknowledgment it was given."""
        self.term, self.active = 0, 0
        """The newest claim that a broker has acknowledged, and the process that has sent it."""
        self.claims: list[tuple[int, int]] = []
        """Term and process of each claim."""
        self.rows = 0
        """Rows of steps."""
        self.late: list[LateRow] = []
        self.unleased: list[UnleasedRow] = []

    def request(self, payload: bytes, pid: int, earliest: float, now: float) -> tuple[int, Batch] | None:
        """Record a request that has arrived between these times.

        Return the correlation id and the batch if it writes to the state topic.
        """
        key, version = int.from_bytes(payload[:2]), int.from_bytes(payload[2:4])
        if key == ApiKey.ALTER_PARTITION_REASSIGNMENTS:
            self._step(payload, pid, earliest)
        elif key == ApiKey.PRODUCE:
            claim = CLAIM.search(payload)
            topic = decode_request(parse_request(payload), ProduceRequest).topic_data[0]
            if claim is not None and topic.topic_id != ZERO_UUID:
                self._topic_id = topic.topic_id
            if topic.name == self._topic or (not topic.name and topic.topic_id == self._topic_id):
                return int.from_bytes(payload[4:8]), Batch(version, int(claim[2]) if claim else 0, now)
        return None

    def answer(self, payload: bytes, pid: int, batch: Batch) -> bool:
        """Record the answer of a broker; return whether the batch is in the log."""
        response = decode_response(parse_response(payload, ApiKey.PRODUCE, batch.version), ProduceResponse)
        written = response.responses[0].partition_responses[0].error_code in WRITTEN
        if written and batch.term > self.term:
            self.term, self.active = batch.term, pid
            self.claims.append((batch.term, pid))
        return written

    def acknowledged(self, pid: int, batch: Batch) -> None:
        """Record that an instance was given the acknowledgment of its batch."""
        self._written[pid] = max(batch.arrived, self._written.get(pid, 0))

    def _step(self, payload: bytes, pid: int, arrived: float) -> None:
        request = decode_request(parse_request(payload), AlterPartitionReassignmentsRequest)
        rows = sum(len(topic.partitions or ()) for topic in request.topics or ())
        self.rows += rows
        if rows and pid != self.active:
            self.late.append(LateRow(pid, rows, self.term))
        since = arrived - self._written.get(pid, 0)
        if rows and since > self._session:
            self.unleased.append(UnleasedRow(pid, rows, since))
