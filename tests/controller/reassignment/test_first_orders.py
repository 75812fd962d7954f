from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from controller.messages.events import AlterReassignments
from controller.messages.job_events import AlterRow, AlterTopic
from controller.model.cluster import Reassignment
from controller.reassignment.first_orders import FirstOrders
from controller.state.decision import Decision
from tests.builders import InMemoryController, partition

ORIGINALS = [(1, 2), (2, 3), (3, 1)]
targets = st.none() | st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True).map(tuple)
rows = st.lists(st.builds(AlterRow, st.integers(0, len(ORIGINALS)), targets), max_size=8)


def controller() -> InMemoryController:
    return InMemoryController().with_partitions(
        *(partition(f"foo-{number}", each) for number, each in enumerate(ORIGINALS))
    )


@given(st.lists(rows, min_size=1, max_size=3))
def test_first_orders_in_bulk_have_the_result_of_one_after_the_other(requests: list[list[AlterRow]]) -> None:
    together, one_by_one = controller(), controller()
    for request in requests:
        event = AlterReassignments([AlterTopic("foo", request)], 60_000)
        reply = together.do(event).reply
        with patch.object(FirstOrders, "take", return_value=False):
            assert one_by_one.do(event).reply == reply
    assert together.changes == one_by_one.changes
    assert together.effects == one_by_one.effects
    assert list(together.state.reassignments.items()) == list(one_by_one.state.reassignments.items())


def test_only_the_first_order_of_an_idle_partition_is_collected() -> None:
    busy = controller()
    busy.alter({"foo-0": (4, 5)})
    d = Decision(busy.state)
    first = FirstOrders(d, "foo", 7)
    taken = [first.take(busy[name], (5, 6)) for name in ("foo-0", "foo-1", "foo-1")]
    first.accept()
    assert taken == [False, True, False]
    assert d.changes == [Reassignment("foo", 1, ORIGINALS[1], (5, 6), 7)]


def test_an_order_for_the_current_list_changes_nothing() -> None:
    calm = controller()
    first = FirstOrders(d := Decision(calm.state), "foo", 7)
    assert first.take(calm["foo-0"], ORIGINALS[0])
    first.accept()
    assert d.changes == []
