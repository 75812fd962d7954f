"""Positions of ports in the state topic."""

import pytest

from backends.state_topic.history import History
from backends.state_topic.state_rows import PORTS_KEY, encode_ports
from protocol.record_batch import BatchRecord
from reassignd.runtime.instances.connection import TopicPorts
from server.gateway.port_assignments import Claim, PortAssignmentError, PortPendingError


class Rig:
    """Ports over a history; what they write is recorded, and read by `read`."""

    def __init__(self) -> None:
        self.history, self.written = History(), list[BatchRecord]()
        self.ports = TopicPorts(lambda: self.history)

    async def position(self, broker: int, limit: int = 9, present: tuple[int, ...] = ()) -> int | None:
        """Return the position, or None while it is pending."""
        try:
            return await self.ports.position(Claim(broker, limit, {broker, *present}))
        except PortPendingError:
            return None

    def read(self, row: BatchRecord) -> None:
        self.history.rows[PORTS_KEY] = row.value or b""


async def test_a_standby_waits_for_the_position() -> None:
    rig = Rig()
    assert await rig.position(7) is None
    rig.read(encode_ports({7: 3}))
    assert rig.ports.changed()
    assert (await rig.position(7), rig.ports.changed()) == (3, False)


async def test_the_active_instance_assigns_each_broker_a_free_position_once() -> None:
    rig = Rig()
    rig.read(encode_ports({7: 2}))
    rig.ports.begin_term(rig.written.append, tuple)
    assert [await rig.position(broker) for broker in (1, 2, 1)] == [None, None, None]
    assert rig.written == [encode_ports({7: 2, 1: 1}), encode_ports({7: 2, 1: 1, 2: 3})]
    rig.read(rig.written[-1])
    assert [await rig.position(broker) for broker in (1, 2)] == [1, 3]


async def test_the_active_instance_gives_the_port_of_a_broker_that_is_gone_to_another() -> None:
    rig = Rig()
    rig.read(encode_ports({1: 1, 2: 2, 31: 31}))
    rig.ports.begin_term(rig.written.append, lambda: {2})
    assert await rig.position(3, limit=2, present=(2,)) is None
    assert rig.written == [encode_ports({2: 2, 3: 1})]
    with pytest.raises(PortAssignmentError, match="all of them are in use"):
        await rig.position(4, limit=2, present=(2, 3))
    rig.read(rig.written[-1])
    assert await rig.position(3, limit=2, present=(2,)) == 1


async def test_after_its_term_an_instance_assigns_nothing() -> None:
    rig = Rig()
    rig.ports.begin_term(rig.written.append, tuple)
    rig.ports.end_term()
    assert await rig.position(1) is None
    assert rig.written == []


async def test_a_damaged_row_is_named() -> None:
    rig = Rig()
    rig.read(BatchRecord(None, b"{"))
    with pytest.raises(PortAssignmentError, match="the row ports of the state topic"):
        await rig.position(1)
