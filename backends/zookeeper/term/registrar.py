"""Our entry in `/brokers/ids`, for brokers that find their controller by it.

Before Kafka 3.0 a broker in a controlled shutdown reads there where the controller is (KAFKA-9189). Later brokers, and
clients, know that from UpdateMetadata. Tools place replicas on every id in `/brokers/ids`, so we are in it as long as a
broker needs it, and no longer.
"""

import asyncio
import logging
from collections.abc import Sequence

from backends.client.channel import Connect, ask_once
from backends.zookeeper.session.tree import ConflictError, Create, Delete, Operation, Set, Tree, Znode
from backends.zookeeper.store.store import ZkStore
from backends.zookeeper.term.brokers import BrokerDirectory, Registered
from backends.zookeeper.term.election import Candidate
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError
from backends.zookeeper.znodes.formats import decode_broker, encode_broker
from common.clock import Clock, RealClock
from common.error_codes import ErrorCode
from protocol.apis import ApiKey
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.api_versions_response import ApiVersionsResponse

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
"""A broker tries its controlled shutdown three times, five seconds apart."""

SINCE_3_0 = ApiKey.ALLOCATE_PRODUCER_IDS
"""An API that brokers serve since 3.0, whatever their inter.broker.protocol.version is."""


class Registrar:
    """Keeps the entry for one term. Call `look` when the brokers in the directory have changed."""

    def __init__(
        self,
        tree: Tree,
        store: ZkStore,
        candidate: Candidate,
        directory: BrokerDirectory,
        connect: Connect,
        clock: Clock | None = None,
    ) -> None:
        self._tree, self._store, self._candidate, self._directory = tree, store, candidate, directory
        self._connect, self._clock = connect, clock or RealClock()
        self._old: dict[tuple[int, int], bool] = {}
        """By id and epoch, whether the broker is older than 3.0."""
        self._due = asyncio.Event()

    def look(self) -> None:
        """The brokers have changed, or our entry has."""
        self._due.set()

    async def run(self) -> None:
        """Ask each broker once, and make the entry what it should be, for ever. Raises ZookeeperError."""
        while True:
            await self._due.wait()
            self._due.clear()
            brokers = self._directory.all()
            await asyncio.gather(*(self._ask(each) for each in brokers))
            try:
                await self._write(brokers)
            except ConflictError as conflict:
                log.debug("looked at again: %s", conflict)
                self._due.set()
            if any((each.id, each.epoch) not in self._old for each in brokers):
                self._due.set()
            if self._due.is_set():
                await self._clock.sleep(RETRY_SECONDS)

    async def _ask(self, broker: Registered) -> None:
        key = (broker.id, broker.epoch)
        if key in self._old:
            return
        try:
            at = self._directory.endpoint(broker.registration)
            answer: ApiVersionsResponse = await ask_once(
                self._connect, at.host, at.port, ApiVersionsRequest(), 0
            )
        except (OSError, ZnodeError) as error:
            log.debug("broker %d does not tell its versions: %s", broker.id, error)
            return
        if answer.error_code == ErrorCode.NONE:
            self._old[key] = all(row.api_key != SINCE_3_0 for row in answer.api_keys)

    async def _write(self, brokers: Sequence[Registered]) -> None:
        path = paths.broker(self._candidate.id)
        there = await self._tree.get(path)
        ours = there is not None and there.ephemeral_owner == self._tree.session_id
        if there is not None and not ours and self._is_foreign(there):
            return
        answers = [self._old.get((each.id, each.epoch)) for each in brokers]
        # Who has not answered may be old: that keeps the entry, but does not make one.
        needed = any(answers) or (ours and None in answers)
        registration = self._candidate.registration._replace(rack=self._directory.rack)
        operations = _operations(path, there, ours, encode_broker(registration, 0) if needed else None)
        if operations:
            await self._store.write(operations)
            what = "registered, since brokers before 3.0 are" if needed else "no longer registered"
            log.info("%s: %s", path, what)

    def _is_foreign(self, there: Znode) -> bool:
        """It is not from an earlier session of ours."""
        path = paths.broker(self._candidate.id)
        try:
            foreign = decode_broker(there.data).endpoints != self._candidate.registration.endpoints
        except ZnodeError:
            foreign = True
        if foreign:
            log.error("%s is a broker's; give reassignd a --node-id that no broker has", path)
        return foreign


def _operations(path: str, there: Znode | None, ours: bool, data: bytes | None) -> list[Operation]:
    """What makes the entry so. One from an earlier session goes with it, and would go too early."""
    if data is None:
        return [Delete(path)] if ours else []
    if there is not None and ours:
        return [] if there.data == data else [Set(path, data, there.version)]
    made: list[Operation] = [] if there is None else [Delete(path, there.version)]
    return [*made, Create(path, data, ephemeral=True)]
