from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.messages.events import AlterReassignments
from controller.messages.job_events import AlterRow, AlterTopic
from controller.model.cluster import Reassignment
from controller.reassignment import orders
from controller.reassignment.bulk import accept_all
from controller.reassignment.phases import Phase
from controller.state.state import Decision
from tests.builders import InMemoryController, key, partition

ORIGINALS = [(1, 2), (2, 3), (3, 1)]
targets = st.none() | st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True).map(tuple)
rows = st.lists(st.builds(AlterRow, st.integers(0, len(ORIGINALS)), targets), max_size=8)


@pytest.fixture(scope="module", autouse=True)
def requests_of_any_size() -> Iterator[None]:
    """Small requests use the bulk paths too."""
    with patch.object(orders, "MANY_ROWS", 0):
        yield


def controller() -> InMemoryController:
    return InMemoryController().with_partitions(
        *(partition(f"foo-{number}", each) for number, each in enumerate(ORIGINALS))
    )


@given(st.lists(rows, min_size=1, max_size=3))
def test_first_orders_in_bulk_have_the_result_of_one_after_the_other(requests: list[list[AlterRow]]) -> None:
    together, one_by_one = controller(), controller()
    for request in requests:
        event = AlterReassignments([AlterTopic("foo", request)])
        reply = together.do(event).reply
        with patch("controller.reassignment.orders.phase_of", return_value=Phase.MOVING):
            assert one_by_one.do(event).reply == reply
    assert together.changes == one_by_one.changes
    assert together.effects == one_by_one.effects
    assert list(together.state.orders.reassignments.items()) == list(
        one_by_one.state.orders.reassignments.items()
    )


def test_only_orders_of_idle_partitions_are_accepted_in_bulk() -> None:
    busy = controller()
    busy.alter({"foo-0": (4, 5)})
    rows = [AlterRow(0, (5, 6)), AlterRow(1, (5, 6)), AlterRow(2, ORIGINALS[2])]
    with patch("controller.reassignment.orders.accept_all", wraps=accept_all) as accepted:
        busy.decide(AlterReassignments([AlterTopic("foo", rows)]))
    job = busy.state.orders.last_job
    assert [call.args[1:3] for call in accepted.call_args_list] == [("foo", job), ("foo", job)]
    assert busy.state.orders.reassignments[key("foo-1")] == Reassignment("foo", 1, ORIGINALS[1], (5, 6), job)


def test_orders_that_are_accepted_are_recorded_enqueued_and_removed() -> None:
    d = Decision(controller().state)
    order = Reassignment("foo", 1, ORIGINALS[1], (5, 6), 7)
    first = {order.key: order}
    accept_all(d, "foo", 7, first)
    assert (d.changes, list(d.state.backlog.to_plan), first) == ([order], [order.key], {})


def test_an_order_for_the_current_list_changes_nothing() -> None:
    calm = controller()
    d = calm.decide(AlterReassignments([AlterTopic("foo", [AlterRow(0, ORIGINALS[0])])]))
    assert (d.changes, calm.state.orders.reassignments) == ([], {})
