"""Positions of ports in the state topic."""

import pytest

from backends.state_topic.history import History
from backends.state_topic.meta import PORTS_KEY, encode_ports
from protocol.record_batch import BatchRecord
from reassignd.runtime.instances.ports import TopicPorts
from server.gateway.port_assignments import PortAssignmentError, PortPendingError


class Rig:
    """Ports over a history; what they write is recorded, and read by `read`."""

    def __init__(self) -> None:
        self.history, self.written = History(), list[BatchRecord]()
        self.ports = TopicPorts(lambda: self.history)

    def pending(self, broker: int) -> bool:
        try:
            self.ports.position(broker)
        except PortPendingError:
            return True
        return False

    def read(self, row: BatchRecord) -> None:
        self.history.rows[PORTS_KEY] = row.value or b""


def test_a_standby_waits_for_the_position() -> None:
    rig = Rig()
    assert rig.pending(7)
    rig.read(encode_ports({7: 3}))
    assert rig.ports.changed()
    assert (rig.ports.position(7), rig.ports.changed()) == (3, False)


def test_the_active_instance_assigns_each_broker_the_next_position_once() -> None:
    rig = Rig()
    rig.read(encode_ports({7: 3}))
    rig.ports.begin_term(rig.written.append)
    assert [rig.pending(broker) for broker in (1, 2, 1)] == [True, True, True]
    assert rig.written == [encode_ports({7: 3, 1: 4}), encode_ports({7: 3, 1: 4, 2: 5})]
    rig.read(rig.written[-1])
    assert [rig.ports.position(broker) for broker in (1, 2)] == [4, 5]


def test_after_its_term_an_instance_assigns_nothing() -> None:
    rig = Rig()
    rig.ports.begin_term(rig.written.append)
    rig.ports.end_term()
    assert rig.pending(1)
    assert rig.written == []


def test_a_damaged_row_is_named() -> None:
    rig = Rig()
    rig.read(BatchRecord(None, b"{"))
    with pytest.raises(PortAssignmentError, match="the row ports of the state topic"):
        rig.ports.position(1)
