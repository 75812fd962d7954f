"""Brokers with log directories, as Kafka's are, and a controller that looks at them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from common.error_codes import ErrorCode
from controller.disks.rules import to_look_at
from controller.messages.disk_events import (
    Ask,
    CancelMoves,
    DisksSeen,
    MoveDisks,
    MovesRefused,
    MovesReply,
    OrderedMove,
    SeenBroker,
    SeenDir,
    SeenLog,
)
from controller.messages.job_events import RollBackJob
from controller.model.disks import BrokerReplica, MoveStage
from controller.model.errors import Outcome
from controller.model.replicas import TopicPartition
from tests.builders import InMemoryController, key, partition

DIRS = ("/a", "/b", "/c")
SIZE, CAPACITY = 10, 100


@dataclass
class Broker:
    """The directories of a broker: logs and future logs by partition, with their bytes."""

    number: int
    logs: dict[TopicPartition, SeenLog] = field(default_factory=dict)
    futures: dict[TopicPartition, SeenLog] = field(default_factory=dict)
    cordoned: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    answers: bool = True
    most: int = 0
    """The most future logs that it has had at once."""

    def used(self, path: str) -> int:
        return sum(log.size for log in (*self.logs.values(), *self.futures.values()) if log.path == path)

    def fail(self, path: str) -> None:
        """Let a directory fail. Kafka drops the future logs in it (`handleLogDirFailure`)."""
        self.failed.add(path)
        self.futures = {name: log for name, log in self.futures.items() if log.path != path}

    def show(self) -> SeenBroker:
        dirs = {
            path: SeenDir(CAPACITY, CAPACITY - self.used(path), path in self.cordoned, path in self.failed)
            for path in DIRS
        }
        logs, futures = (
            {name: log for name, log in each.items() if log.path not in self.failed}
            for each in (self.logs, self.futures)
        )
        return SeenBroker(dirs, logs, futures)

    def ask(self, ask: Ask) -> Outcome:
        """Do as ReplicaManager of Kafka."""
        name, path = ask.replica.partition_key, ask.path
        if path not in DIRS or path in self.failed or path in self.cordoned:
            return Outcome(ErrorCode.KAFKA_STORAGE_ERROR)
        if name not in self.logs:
            return Outcome(ErrorCode.REPLICA_NOT_AVAILABLE)
        if name in self.futures and self.futures[name].path != path:
            del self.futures[name]
        if self.logs[name].path != path and name not in self.futures:
            self.futures[name] = SeenLog(path, 0)
        self.most = max(self.most, len(self.futures))
        return Outcome()

    def copy(self, size: int = SIZE) -> None:
        """Copy so many bytes to each future log; those with all bytes replace the logs."""
        for name, future in list(self.futures.items()):
            grown = min(self.logs[name].size, future.size + size)
            self.futures[name] = future._replace(size=grown)
            if grown == self.logs[name].size:
                self.logs[name] = self.futures.pop(name)


class Directories:
    """A controller, and brokers 1 to 3 with a replica of each partition in `/a`."""

    def __init__(self, names: Iterable[str] = ("foo-0", "foo-1", "foo-2")) -> None:
        self.names = list(names)
        self.controller = InMemoryController((1, 2, 3)).with_partitions(
            *(partition(name, (1, 2, 3)) for name in self.names)
        )
        self.brokers = {number: Broker(number) for number in (1, 2, 3)}
        for broker in self.brokers.values():
            broker.logs = {key(name): SeenLog("/a", SIZE) for name in self.names}

    def order(self, *moves: tuple[str, int, str], source: str = "/a", **fields: Any) -> MovesReply:
        """Order moves: the name of the partition, the broker, and the directory."""
        rows = [OrderedMove(*key(name), broker, source, path, SIZE) for name, broker, path in moves]
        reply: MovesReply = self.controller.do(MoveDisks(rows, **fields)).reply
        return reply

    def cancel(self, job: int | None) -> int:
        count: int = self.controller.do(CancelMoves(job)).reply
        return count

    def roll_back(self, job: int) -> Any:
        return self.controller.do(RollBackJob(job)).reply

    def look(self, seconds: int = 1, turn: int | None = None) -> Sequence[Ask]:
        """Look at all brokers with moves, and ask them for what the reply says.

        `turn` is the place of the waiting moves that are looked at; None: all are.
        """
        state = self.controller.state
        looked = {
            broker: [replica for replica in state.disks.open if replica.broker == broker]
            if turn is None
            else to_look_at(state, broker, turn)
            for broker in sorted(state.disks.brokers)
        }
        shown = {broker: self.brokers[broker].show() for broker in looked if self.brokers[broker].answers}
        silent = {broker: f"offline: broker {broker}" for broker in looked.keys() - shown.keys()}
        asks: Sequence[Ask] = self.controller.do(DisksSeen(looked, shown, silent)).reply
        answers = [(ask, self.brokers[ask.replica.broker].ask(ask)) for ask in asks]
        refused = [
            (ask, f"refused by broker {ask.replica.broker}: {outcome.text}")
            for ask, outcome in answers
            if not outcome.ok
        ]
        if refused:
            self.controller.do(MovesRefused(refused))
        self.controller.now_ms += 1_000 * seconds
        return asks

    def copy(self, size: int = SIZE) -> None:
        for broker in self.brokers.values():
            broker.copy(size)

    def settle(self, rounds: int = 50) -> None:
        """Look and copy until no move is left."""
        for _ in range(rounds):
            if not self.controller.state.disks.open:
                return
            self.look(seconds=31)
            self.copy()
        raise AssertionError(f"moves never end: {self.controller.state.disks.open}")

    def where(self, name: str, broker: int) -> str:
        return self.brokers[broker].logs[key(name)].path

    def stages(self, job: int = 1) -> dict[str, MoveStage]:
        moves = self.controller.state.disks.moves.get(job, {})
        return {f"{move.replica.partition_key}@{move.broker}": move.stage for move in moves.values()}

    def stage(self, job: int = 1) -> MoveStage:
        [stage] = self.stages(job).values()
        return stage

    def reason(self, name: str, broker: int) -> str:
        return self.controller.state.disks.reasons.get(BrokerReplica(*key(name), broker), "")
