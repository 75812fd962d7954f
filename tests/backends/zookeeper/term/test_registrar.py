"""When reassignd is in the list of brokers: as long as one needs it there."""

from collections.abc import AsyncIterator

import pytest

from backends.client.channel import Channel
from backends.zookeeper.session.tree import Create, Delete
from backends.zookeeper.term.brokers import BrokerDirectory, RegisteredBroker
from backends.zookeeper.term.registrar import RETRY_SECONDS, Registrar
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.formats import encode_broker
from common.clock import ManualClock, settle
from common.tasks import cancel, spawn
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from tests.backends.zookeeper.memory_tree import MemoryTree
from tests.backends.zookeeper.term.test_live_brokers import registered, registration
from tests.backends.zookeeper.trees import CANDIDATE, made, read, store_on

OURS = paths.broker(CANDIDATE.id)


class Broker:
    """Of this release; None for one that does not answer."""

    def __init__(self, release: str | None) -> None:
        self.release = release

    async def request(self, message: object, version: int) -> ApiVersionsResponse:
        if self.release is None:
            raise ConnectionResetError
        keys = (3, 18, 67) if self.release >= "3.0" else (3, 18)
        return ApiVersionsResponse(api_keys=[ApiVersion(key, 0, 1) for key in keys])

    def close(self) -> None:
        pass


class Office:
    """A registrar at work. `brokers` are releases by id, which is the port, too."""

    def __init__(self) -> None:
        self.brokers: dict[int, str | None] = {}
        self.epoch = 1
        self.clock = ManualClock()

    async def start(self, tree: MemoryTree | None = None) -> "Office":
        self.tree = tree or await made()
        store = await store_on(self.tree)
        self.directory = BrokerDirectory()
        self.registrar = Registrar(self.tree, store, CANDIDATE, self.directory, self._connect, self.clock)
        self.tasks = [spawn(self.registrar.run(), "registrar"), store._task]
        return self

    async def having(self, **brokers: str | None) -> "Office":
        """From now on there are these; `b1="2.8"`."""
        self.brokers = {int(name[1:]): release for name, release in brokers.items()}
        known = [RegisteredBroker(number, self.epoch, registered(number)) for number in self.brokers]
        self.directory.update(known)
        self.registrar.brokers_changed()
        await settle()
        return self

    @property
    def registered(self) -> bool:
        return OURS in self.tree.nodes

    async def _connect(self, _: str, port: int) -> Channel:
        return Broker(self.brokers[port])


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    office = await Office().start()
    yield office
    await cancel(*office.tasks)


async def test_brokers_since_3_0_need_no_entry(office: Office) -> None:
    assert not (await office.having(b1="3.9", b2="3.0")).registered


async def test_there_is_an_entry_as_long_as_an_older_broker_is_there(office: Office) -> None:
    await office.having(b1="3.9", b2="2.8")
    assert read(office.tree, OURS)["endpoints"] == ["PLAINTEXT://localhost:9000"]
    assert not (await office.having(b1="3.9")).registered


async def test_a_broker_that_was_upgraded_is_asked_again(office: Office) -> None:
    assert (await office.having(b1="2.8")).registered
    office.epoch = 2
    assert not (await office.having(b1="3.9")).registered


async def test_a_broker_that_does_not_answer_is_asked_until_it_does(office: Office) -> None:
    assert not (await office.having(b1=None)).registered
    office.brokers = {1: "2.4"}
    await office.clock.advance(RETRY_SECONDS)
    await settle()
    assert office.registered


async def test_an_entry_stays_while_it_is_not_known_who_needs_it(office: Office) -> None:
    await office.having(b1="2.8")
    assert (await office.having(b2=None)).registered


async def test_an_entry_from_an_earlier_session_is_replaced() -> None:
    tree = await made()
    data = encode_broker(CANDIDATE.registration, 0)
    tree.write([Create(OURS, data, ephemeral=True)], session=9)
    office = await Office().start(tree)
    await office.having(b1="2.8")
    assert tree.nodes[OURS].ephemeral_owner == tree.session_id
    await cancel(*office.tasks)


async def test_a_broker_that_has_our_id_is_left_alone_and_told_of(caplog: pytest.LogCaptureFixture) -> None:
    tree = await made()
    tree.write([Create(OURS, registration(1), ephemeral=True)], session=9)
    office = await Office().start(tree)
    await office.having(b1="2.8")
    assert tree.nodes[OURS].ephemeral_owner == 9
    assert "give reassignd a --node-id that no broker has" in caplog.text
    await cancel(*office.tasks)


async def test_an_entry_that_someone_removed_is_made_again(office: Office) -> None:
    await office.having(b1="2.8")
    office.tree.write([Delete(OURS)], session=9)
    assert (await office.having(b1="2.8")).registered
