"""reassignd's registration in `/brokers/ids`, which exists only while a broker needs it.

Before Kafka 3.0, a broker in a controlled shutdown reads the controller's address from its registration
(KAFKA-9189). Later brokers, and clients, use UpdateMetadata. Tools place replicas on every id in
`/brokers/ids`, so the registration is created only for older brokers.
"""

import asyncio
import logging
from collections.abc import Sequence

from backends.client.channel import Connect, ask_once
from backends.zookeeper.session.tree import ConflictError, Create, Delete, Operation, Set, Tree, Znode
from backends.zookeeper.store.store import ZkStore
from backends.zookeeper.term.election import ControllerCandidate
from backends.zookeeper.term.registered_brokers import BrokerDirectory, RegisteredBroker
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
"""Less than the time of a controlled shutdown, which a broker tries three times, five seconds apart."""

SINCE_3_0 = ApiKey.ALLOCATE_PRODUCER_IDS
"""An API of all brokers from 3.0, whatever their inter.broker.protocol.version is."""


class Registrar:
    """Creates and deletes the registration, for one term.

    Call `brokers_changed` when the directory has changed.
    """

    def __init__(
        self,
        tree: Tree,
        store: ZkStore,
        candidate: ControllerCandidate,
        directory: BrokerDirectory,
        connect: Connect,
        clock: Clock | None = None,
    ) -> None:
        self._tree, self._store, self._candidate, self._directory = tree, store, candidate, directory
        self._connect, self._clock = connect, clock or RealClock()
        self._is_older: dict[tuple[int, int], bool] = {}
        """By broker id and epoch: whether the broker is older than 3.0. Only brokers that have answered are
        in it."""
        self._wake = asyncio.Event()

    def brokers_changed(self) -> None:
        """Check the registration: brokers, or the registration itself, have changed."""
        self._wake.set()

    async def run(self) -> None:
        """Ask each broker once, and keep the registration as they need it, until cancelled.

        Raises ZookeeperError.
        """
        while True:
            await self._wake.wait()
            self._wake.clear()
            brokers = self._directory.all()
            await asyncio.gather(*(self._ask(each) for each in brokers))
            try:
                await self._write(brokers)
            except ConflictError as conflict:
                log.debug("the registration has changed since it was read: %s", conflict)
                self._wake.set()
            if any((each.id, each.epoch) not in self._is_older for each in brokers):
                self._wake.set()
            if self._wake.is_set():
                await self._clock.sleep(RETRY_SECONDS)

    async def _ask(self, broker: RegisteredBroker) -> None:
        key = (broker.id, broker.epoch)
        if key in self._is_older:
            return
        try:
            endpoint = self._directory.endpoint(broker.registration)
            response: ApiVersionsResponse = await ask_once(
                self._connect, endpoint.host, endpoint.port, ApiVersionsRequest(), 0
            )
        except (OSError, ZnodeError) as error:
            log.debug("no ApiVersions response from broker %d: %s", broker.id, error)
            return
        if response.error_code == ErrorCode.NONE:
            self._is_older[key] = all(row.api_key != SINCE_3_0 for row in response.api_keys)

    async def _write(self, brokers: Sequence[RegisteredBroker]) -> None:
        path = paths.broker(self._candidate.id)
        existing = await self._tree.get(path)
        is_own = existing is not None and existing.ephemeral_owner == self._tree.session_id
        if existing is not None and not is_own and self._belongs_to_broker(existing):
            return
        answers = [self._is_older.get((each.id, each.epoch)) for each in brokers]
        # A broker without an answer may be older: it keeps an existing registration, but does not create one.
        needed = any(answers) or (is_own and None in answers)
        registration = self._candidate.registration._replace(rack=self._directory.controller_rack)
        operations = _operations(path, existing, is_own, encode_broker(registration, 0) if needed else None)
        if operations:
            await self._store.write(operations)
            what = "created for brokers older than 3.0" if needed else "deleted: no broker needs it"
            log.info("registration %s %s", path, what)

    def _belongs_to_broker(self, existing: Znode) -> bool:
        """Return whether another process owns the registration.

        One from our earlier session has our listeners.
        """
        path = paths.broker(self._candidate.id)
        try:
            foreign = decode_broker(existing.data).endpoints != self._candidate.registration.endpoints
        except ZnodeError:
            foreign = True
        if foreign:
            log.error(
                "%s is the registration of a broker; give reassignd a --node-id that no broker has", path
            )
        return foreign


def _operations(path: str, existing: Znode | None, is_own: bool, data: bytes | None) -> list[Operation]:
    """Return the writes that give the registration this data; None deletes it.

    A registration of our earlier session is replaced by a new znode, because it ends with that session.
    """
    if data is None:
        return [Delete(path)] if is_own else []
    if existing is not None and is_own:
        return [] if existing.data == data else [Set(path, data, existing.version)]
    operations: list[Operation] = [] if existing is None else [Delete(path, existing.version)]
    return [*operations, Create(path, data, ephemeral=True)]
