"""Rows of an earlier active instance that arrive late are not taken for another client's."""

from hypothesis import given, settings
from hypothesis import strategies as st

from common.error_codes import ErrorCode
from controller.gateway.steps import HELD_MS, LATEST_MS, MOST_REPEATS, name_suspects
from controller.messages.effects import Submit
from tests.builders import key
from tests.controller.kraft import Gateway, own

FOO = ("foo-0", (4, 1))
KEY = key("foo-0")
ORIGINAL, OLD, NEW = (4, 1), (2, 3), (5, 6)


def takeover(earlier: Gateway) -> Gateway:
    """Return the controller of the next term.

    The rows of the earlier one that are not delivered may arrive late.
    """
    other = Gateway(kafka=earlier.kafka)
    other.put(*own(earlier.state))
    other.now_ms = earlier.now_ms
    name_suspects(other.state, other.now_ms)
    other.poll()
    return other


def ordered(target: tuple[int, ...] = OLD) -> Gateway:
    """Return a controller whose row to the target is not sent yet."""
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": target})
    return gateway


def run(gateway: Gateway, ms: int) -> None:
    """Deliver requests and poll for that time, without any progress of replicas."""
    until = gateway.now_ms + ms
    while gateway.now_ms < until:
        gateway.deliver()
        gateway.poll()


def ask(gateway: Gateway, order: tuple[int, ...] | None, wanted: tuple[int, ...]) -> tuple[int, ...]:
    """Order the target, or a cancel. Return where the partition is to end; until now, that was `wanted`."""
    reassignment = gateway.state.orders.reassignments.get(KEY)
    outcome = gateway.alter({"foo-0": order})["foo-0"]
    if outcome.error is ErrorCode.INVALID_REPLICA_ASSIGNMENT:
        # The step has ended in Kafka without an answer. To undo it would lose the data.
        assert not {*ORIGINAL} & {*gateway.kafka.isr[KEY]}
        return wanted
    if order is not None:
        return order
    return wanted if reassignment is None else reassignment.original


def blocked(gateway: Gateway) -> str:
    reassignment = gateway.state.orders.reassignments.get(KEY)
    return reassignment.blocked if reassignment else ""


def sent(gateway: Gateway) -> list[object]:
    return [effect.replicas for effect in gateway.effects if isinstance(effect, Submit)]


def test_a_cancel_waits_until_the_row_cannot_arrive_any_more() -> None:
    gateway = takeover(ordered())
    gateway.alter({"foo-0": None})
    run(gateway, HELD_MS - 5_000)
    assert None not in sent(gateway)
    gateway.kafka.alter(KEY, OLD)
    run(gateway, 10_000)
    assert gateway.settle().kafka.replicas[KEY] == ORIGINAL
    assert None in sent(gateway)


def test_the_same_row_is_sent_at_once() -> None:
    gateway = takeover(ordered())
    gateway.poll()
    assert sent(gateway) == [OLD]


def test_a_late_row_over_a_later_step_is_answered_by_the_own_row() -> None:
    gateway = takeover(ordered()).settle()
    run(gateway, HELD_MS)
    gateway.alter({"foo-0": NEW})
    run(gateway, 1_000)
    gateway.kafka.alter(KEY, OLD)
    run(gateway, 5_000)
    assert (blocked(gateway), gateway.state.gateway.late_rows) == ("", 1)
    assert gateway.settle().kafka.replicas[KEY] == NEW


def test_a_late_cancel_of_a_later_step_is_answered_by_the_own_row() -> None:
    earlier = ordered()
    earlier.deliver()
    earlier.poll()
    earlier.alter({"foo-0": None})
    gateway = takeover(earlier).settle()
    run(gateway, HELD_MS)
    gateway.alter({"foo-0": NEW})
    run(gateway, 1_000)
    gateway.kafka.alter(KEY, None)
    run(gateway, 15_000)
    assert (blocked(gateway), gateway.state.gateway.late_rows) == ("", 1)
    assert gateway.settle().kafka.replicas[KEY] == NEW


def test_a_late_row_after_the_end_is_cancelled() -> None:
    gateway = takeover(ordered()).settle()
    run(gateway, HELD_MS)
    gateway.alter({"foo-0": NEW})
    gateway.settle()
    gateway.kafka.alter(KEY, OLD)
    run(gateway, 2_000)
    assert gateway.settle().kafka.replicas[KEY] == NEW


def test_much_later_the_same_move_is_another_client_s() -> None:
    gateway = takeover(ordered()).settle()
    run(gateway, HELD_MS)
    gateway.alter({"foo-0": NEW})
    gateway.settle()
    gateway.now_ms += LATEST_MS
    gateway.kafka.alter(KEY, OLD)
    run(gateway, 2_000)
    assert gateway.settle().kafka.replicas[KEY] == OLD


def test_a_client_that_insists_is_another_client() -> None:
    gateway = takeover(ordered()).settle()
    run(gateway, HELD_MS)
    gateway.alter({"foo-0": NEW})
    for _ in range(MOST_REPEATS + 1):
        run(gateway, 20_000)
        gateway.kafka.alter(KEY, OLD)
    run(gateway, 20_000)
    assert gateway.state.gateway.late_rows == MOST_REPEATS
    assert blocked(gateway)


TARGETS = st.sampled_from([OLD, NEW, (1, 2), (4, 5, 6), None])


@settings(deadline=None)
@given(
    before=TARGETS,
    moved=st.booleans(),
    cancelled=st.booleans(),
    orders=st.lists(TARGETS, max_size=3),
    data=st.data(),
)
def test_whenever_a_late_row_arrives_within_its_time_the_last_accepted_order_is_carried_out(
    before: tuple[int, ...] | None,
    moved: bool,
    cancelled: bool,
    orders: list[tuple[int, ...] | None],
    data: st.DataObject,
) -> None:
    earlier = Gateway(FOO)
    earlier.alter({"foo-0": before})
    if moved:
        earlier.deliver()
        earlier.poll()
        if cancelled:
            earlier.alter({"foo-0": None})
    late = [row.replicas for row in earlier._unsent() if isinstance(row, Submit)]
    gateway = takeover(earlier)
    arrives = data.draw(st.integers(0, 40)) if late else -1
    behind = data.draw(st.integers(-1, 40))
    wanted = ORIGINAL if before is None or (moved and cancelled) else before
    for step in range(41):
        if step % 13 == 5 and orders:
            wanted = ask(gateway, orders.pop(0), wanted)
        if step == arrives:
            gateway.kafka.alter(KEY, late[-1])
        if step == behind:
            gateway.kafka.freeze_one()
        run(gateway, data.draw(st.sampled_from([250, 500, 750])))
        if data.draw(st.booleans()):
            gateway.catch_up()
    gateway.kafka.publish()
    run(gateway, HELD_MS)
    gateway.settle()
    run(gateway, 20_000)
    gateway.settle()
    assert (gateway.kafka.replicas[KEY], blocked(gateway)) == (wanted, "")


def test_a_late_row_that_a_cancel_has_followed_is_undone() -> None:
    for late_ms in (HELD_MS // 2, 2 * HELD_MS):
        earlier = ordered()
        earlier.alter({"foo-0": None})  # waits behind the row, which is in the socket
        gateway = takeover(earlier)
        run(gateway, late_ms)
        gateway.kafka.alter(KEY, OLD)
        run(gateway, 2 * HELD_MS)
        assert set(gateway.settle().kafka.replicas[KEY]) == set(ORIGINAL)
