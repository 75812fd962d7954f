"""The registration exists only while a broker needs it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from backends.client.channel import Channel
from backends.zookeeper.session.tree import Create, Delete
from backends.zookeeper.term.registered_brokers import BrokerDirectory, RegisteredBroker
from backends.zookeeper.term.registrar import RETRY_SECONDS, Registrar
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.formats import encode_broker
from common.clock import ManualClock, settle
from common.tasks import cancel, spawn
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from tests.backends.zookeeper.memory_tree import MemoryTree
from tests.backends.zookeeper.term.test_registered_brokers import registered, registration
from tests.backends.zookeeper.trees import CANDIDATE, open_store, read_json, tree_with

OURS = paths.broker(CANDIDATE.id)


class Broker:
    """A broker of this release; None for one that does not answer."""

    def __init__(self, release: str | None) -> None:
        self.release = release

    async def request(self, message: Any, version: int) -> Any:
        if self.release is None:
            raise ConnectionResetError
        keys = (3, 18, 67) if self.release >= "3.0" else (3, 18)
        return ApiVersionsResponse(api_keys=[ApiVersion(key, 0, 1) for key in keys])

    def close(self) -> None:
        pass


class RegistrarRig:
    """A registrar with fake brokers. `brokers` are releases by id; the port of a broker is its id."""

    def __init__(self) -> None:
        self.brokers: dict[int, str | None] = {}
        self.epoch = 1
        self.clock = ManualClock()

    async def start(self, tree: MemoryTree | None = None) -> "RegistrarRig":
        self.tree = tree or await tree_with()
        store = await open_store(self.tree)
        self.directory = BrokerDirectory()
        self.registrar = Registrar(self.tree, store, CANDIDATE, self.directory, self._connect, self.clock)
        self.tasks = [spawn(self.registrar.run(), "registrar"), store._task]
        return self

    async def having(self, **brokers: str | None) -> "RegistrarRig":
        """Replace the brokers; `b1="2.8"` is broker 1 with release 2.8."""
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
async def rig() -> AsyncIterator[RegistrarRig]:
    rig = await RegistrarRig().start()
    yield rig
    await cancel(*rig.tasks)


async def test_brokers_from_3_0_need_no_registration(rig: RegistrarRig) -> None:
    assert not (await rig.having(b1="3.9", b2="3.0")).registered


async def test_the_registration_exists_while_an_older_broker_does(rig: RegistrarRig) -> None:
    await rig.having(b1="3.9", b2="2.8")
    assert read_json(rig.tree, OURS)["endpoints"] == ["PLAINTEXT://localhost:9000"]
    assert not (await rig.having(b1="3.9")).registered


async def test_a_broker_that_was_upgraded_is_asked_again(rig: RegistrarRig) -> None:
    assert (await rig.having(b1="2.8")).registered
    rig.epoch = 2
    assert not (await rig.having(b1="3.9")).registered


async def test_a_broker_without_a_response_is_asked_again(rig: RegistrarRig) -> None:
    assert not (await rig.having(b1=None)).registered
    rig.brokers = {1: "2.4"}
    await rig.clock.advance(RETRY_SECONDS)
    await settle()
    assert rig.registered


async def test_a_registration_stays_while_a_broker_has_not_answered(rig: RegistrarRig) -> None:
    await rig.having(b1="2.8")
    assert (await rig.having(b2=None)).registered


async def test_a_registration_of_an_earlier_session_is_replaced() -> None:
    tree = await tree_with()
    data = encode_broker(CANDIDATE.registration, 0)
    tree.write([Create(OURS, data, ephemeral=True)], session=9)
    rig = await RegistrarRig().start(tree)
    await rig.having(b1="2.8")
    assert tree.nodes[OURS].ephemeral_owner == tree.session_id
    await cancel(*rig.tasks)


async def test_a_broker_with_our_id_is_logged_and_not_replaced(caplog: pytest.LogCaptureFixture) -> None:
    tree = await tree_with()
    tree.write([Create(OURS, registration(1), ephemeral=True)], session=9)
    rig = await RegistrarRig().start(tree)
    await rig.having(b1="2.8")
    assert tree.nodes[OURS].ephemeral_owner == 9
    assert "give reassignd a --node-id that no broker has" in caplog.text
    await cancel(*rig.tasks)


async def test_a_registration_that_others_deleted_is_created_again(rig: RegistrarRig) -> None:
    await rig.having(b1="2.8")
    rig.tree.write([Delete(OURS)], session=9)
    assert (await rig.having(b1="2.8")).registered
