"""Reading is paused while there is at least one reason."""

from server.relay.upstream_connection import FlowControl
from tests.server.fakes import FakeTransport


def test_reading_resumes_when_the_last_reason_to_pause_is_gone() -> None:
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


def test_a_closing_transport_is_not_paused() -> None:
    transport = FakeTransport()
    flow = FlowControl(transport)
    flow.hold("a")
    transport.close()
    flow.release("a")
    assert transport.flow == ["paused"]
