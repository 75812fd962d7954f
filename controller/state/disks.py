"""The moves between log directories: their records, with indexes, and what was last seen of them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from controller.model.disks import ENDINGS, BrokerReplica, DiskMove, MoveStage
from controller.model.jobs import Ending
from controller.state.orders import JobRates, count_down


class Received(NamedTuple):
    """What the target directory has of a replica."""

    bytes: int
    since_ms: int
    """When these bytes were first seen, in milliseconds since 1970."""


Moves = dict[BrokerReplica, DiskMove]


@dataclass(eq=False, slots=True)
class DiskState(JobRates):
    """The moves by job and by broker. `received`, `reasons` and `refused` are not durable.

    `rates` hold for each broker on its own.
    """

    moves: dict[int, Moves] = field(default_factory=dict)
    """By job, in the order of the request. Those that have ended are among them."""
    open: Moves = field(default_factory=dict)
    """Those that have not ended. A replica has one at most."""
    flying: dict[int, Moves] = field(default_factory=dict)
    """By broker: those for which the broker was asked."""
    waiting: dict[int, dict[int, Moves]] = field(default_factory=dict)
    """By broker and job: those for which the broker was not asked yet."""
    topics: Counter[str] = field(default_factory=Counter)
    """The number of moves of each topic, also of those that have ended."""
    open_topics: Counter[str] = field(default_factory=Counter)
    """The number of open moves of each topic."""
    stages: dict[int, Counter[MoveStage]] = field(default_factory=dict)
    """By job: the number of its moves in each stage."""
    received: dict[BrokerReplica, Received] = field(default_factory=dict)
    reasons: dict[BrokerReplica, str] = field(default_factory=dict)
    """Why an open move does not start, or does not go on."""
    refused: dict[BrokerReplica, int] = field(default_factory=dict)
    """When a move that the broker has refused is tried again, in milliseconds since 1970."""

    @property
    def brokers(self) -> set[int]:
        """The brokers with moves that have not ended."""
        return self.flying.keys() | self.waiting.keys()

    def put(self, record: DiskMove) -> int:
        """Insert or replace the move. Return by how much the number of open moves of its job changes."""
        replica, of_job = record.replica, self.moves.setdefault(record.job, {})
        before = of_job.get(replica)
        if before is None:
            self.topics[record.topic] += 1
        else:
            self._leave(before)
        of_job[replica] = record
        self.stages.setdefault(record.job, Counter())[record.stage] += 1
        if record.stage.is_open:
            self.open[replica] = record
            self.open_topics[record.topic] += 1
            if record.stage.is_flying:
                self.flying.setdefault(record.broker, {})[replica] = record
            else:
                self.waiting.setdefault(record.broker, {}).setdefault(record.job, {})[replica] = record
        else:
            self._forget(replica)
        return record.stage.is_open - (before is not None and before.stage.is_open)

    def delete(self, key: tuple[int, BrokerReplica]) -> int:
        """Remove the move, which exists. Return by how much the number of open moves changes."""
        job, replica = key
        gone = self.moves[job].pop(replica)
        self._leave(gone)
        count_down(self.topics, gone.topic)
        if not self.moves[job]:
            del self.moves[job], self.stages[job]
        if gone.stage.is_open:
            self._forget(replica)
        return -gone.stage.is_open

    def note_received(self, replica: BrokerReplica, size: int, now_ms: int) -> None:
        """Remember the bytes in the target directory."""
        known = self.received.get(replica)
        if known is None or known.bytes != size:
            self.received[replica] = Received(size, now_ms)

    def wait(self, replica: BrokerReplica, reason: str) -> None:
        """Remember why the move does not start, or go on; an empty reason if it does."""
        if reason:
            self.reasons[replica] = reason
        else:
            self.reasons.pop(replica, None)

    def refuse(self, replica: BrokerReplica, reason: str, again_ms: int) -> None:
        """The broker has refused the move: it is tried again after this time."""
        self.reasons[replica] = reason
        self.refused[replica] = again_ms

    def try_again(self, replica: BrokerReplica) -> None:
        """The move starts, or has started: earlier reasons and refusals are over."""
        self.reasons.pop(replica, None)
        self.refused.pop(replica, None)

    def throttles(self) -> Mapping[int, int]:
        """Return the rate of each broker that copies for a job with a throttle, the lowest of several."""
        if not self.rates:
            return {}
        rates: dict[int, int] = {}
        for broker, moves in self.flying.items():
            own = [self.rates[move.job] for move in moves.values() if move.job in self.rates]
            if own:
                rates[broker] = min(own)
        return rates

    def endings(self, job: int) -> Counter[Ending]:
        """Return the number of moves of a job by the way they ended."""
        stages = self.stages.get(job, Counter())
        return Counter({ENDINGS[stage]: count for stage, count in stages.items() if not stage.is_open})

    def _leave(self, record: DiskMove) -> None:
        """Take a move out of the indexes of its stage."""
        count_down(self.stages[record.job], record.stage)
        if not record.stage.is_open:
            return
        del self.open[record.replica]
        count_down(self.open_topics, record.topic)
        if record.stage.is_flying:
            _take_out(self.flying, record.broker, record.replica)
            return
        of_broker = self.waiting[record.broker]
        _take_out(of_broker, record.job, record.replica)
        if not of_broker:
            del self.waiting[record.broker]

    def _forget(self, replica: BrokerReplica) -> None:
        for known in (self.received, self.reasons, self.refused):
            known.pop(replica, None)


def _take_out(groups: dict[int, Moves], number: int, replica: BrokerReplica) -> None:
    """Remove a move from its group, and a group that is empty then."""
    del groups[number][replica]
    if not groups[number]:
        del groups[number]
