"""Reading goes on while nobody objects."""

from server.relay.upstream_connection import FlowControl
from tests.server.fakes import FakeTransport


def test_reading_goes_on_when_the_last_objection_is_gone() -> None:
    transport = FakeTransport()
    flow = FlowControl(transport)
    flow.hold("a")
    flow.hold("b")
    flow.hold("a")
    flow.release("a")
    assert (flow.reading, transport.flow) == (False, ["paused"])
    flow.release("b")
    flow.release("b")
    assert transport.flow == ["paused", "resumed"]


def test_a_transport_that_closes_is_left_alone() -> None:
    transport = FakeTransport()
    flow = FlowControl(transport)
    flow.hold("a")
    transport.close()
    flow.release("a")
    assert transport.flow == ["paused"]
