"""Requests and answers to the upstream are lost; every reassignment still ends at its target or original."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from common.error_codes import ErrorCode
from controller.model.errors import DONE
from controller.model.replicas import Replicas
from tests.builders import key
from tests.controller.kraft import Gateway, KraftModel
from tests.examples import examples

FOO = ("foo-0", (4, 1))
KEY = key("foo-0")

FAULTS = st.sampled_from(
    [
        "deliver",
        "lose requests",
        "lose answers",
        "poll",
        "catch up",
        "arrive",
        "restart",
        "order",
        "cancel",
        "down",
        "up",
        "lag",
        "freeze one",
        "publish",
    ]
)


@settings(max_examples=examples(150))
@given(
    st.lists(st.tuples(FAULTS, st.permutations(range(1, 7)), st.integers(1, 3)), max_size=25),
    st.integers(1, 3),
    st.booleans(),
)
def test_despite_lost_messages_every_reassignment_ends_at_its_target_or_original(
    faults: list[tuple[str, list[int], int]], step: int, waits_for_added: bool
) -> None:
    gateway = Gateway(FOO, waits_for_added=waits_for_added)
    gateway.default("reassignment.max.concurrent.replica.movements.per.partition", str(step))
    expected: Replicas = (4, 1)
    for fault, brokers, size in faults:
        if fault == "order":
            outcome = gateway.alter({"foo-0": brokers[:size]})["foo-0"]
            # Replacing a step whose only live replicas are adding ones would lose data.
            assert outcome.error in {ErrorCode.NONE, ErrorCode.INVALID_REPLICA_ASSIGNMENT}
            expected = tuple(brokers[:size]) if outcome.ok else expected
        elif fault == "cancel" and (wanted := gateway.reassignment_of("foo-0")) is not None:
            refused = not gateway.alter({"foo-0": None})["foo-0"].ok
            expected = expected if refused else wanted.original
        gateway = happen(gateway, fault, brokers)
    gateway.kafka.down.clear()
    gateway.kafka.publish()
    gateway.poll()
    gateway.settle()
    assert gateway.kafka.replicas[KEY] == expected
    assert gateway.state.gateway.steps == {}
    assert len(gateway.state.backlog.costs) == 0


TWISTS = st.sampled_from(
    [
        "deliver",
        "lose requests",
        "lose answers",
        "poll",
        "catch up",
        "restart",
        "freeze",
        "freeze one",
        "publish",
        "lead",
    ]
)
REPLICAS = st.lists(st.integers(1, 4), min_size=2, max_size=3, unique=True).map(tuple)


@settings(max_examples=examples(300))
@given(REPLICAS, REPLICAS, *(st.lists(TWISTS, max_size=size) for size in (2, 3, 4)))
@example((1, 2), (3, 4), [], ["lose answers", "catch up"], [])
def test_a_cancel_while_brokers_lag_ends_at_the_original_unless_it_is_refused(
    first: Replicas, target: Replicas, before: list[str], between: list[str], after: list[str]
) -> None:
    gateway = Gateway(("foo-0", first))
    for twist in before:
        gateway = happen(gateway, twist, [*first])
    gateway.alter({"foo-0": target})
    for twist in between:
        gateway = happen(gateway, twist, [*first[1:], *target])
    expected = first
    if gateway.reassignment_of("foo-0") is None:
        expected = target
    elif (outcome := gateway.alter({"foo-0": None})["foo-0"]) != DONE:
        # The step has ended in Kafka without an answer. To undo it would lose the data.
        assert outcome.error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert not {*first} & {*gateway.kafka.isr[KEY]}
        expected = target
    for twist in after:
        gateway = happen(gateway, twist, [*target[1:], *first])
    gateway.kafka.publish()
    gateway.poll()
    gateway.settle()
    assert gateway.kafka.replicas[KEY] == expected
    assert gateway.state.gateway.steps == {}


def happen(gateway: Gateway, fault: str, brokers: list[int]) -> Gateway:
    kafka: KraftModel = gateway.kafka
    if fault == "down" and len(kafka.down) < 2:
        kafka.down.add(brokers[0])
    elif fault == "arrive":
        kafka.arrive(KEY, brokers[0])
    elif fault == "up":
        kafka.down.clear()
    elif fault == "lag":
        lag(gateway, brokers[0])
    elif fault == "freeze":
        kafka.freeze()
    elif fault == "freeze one":
        kafka.freeze_one()
    elif fault == "publish":
        kafka.publish()
    elif fault == "lead":
        kafka.lead(KEY, brokers[0])
    elif fault == "restart":
        return gateway.successor()
    else:
        what = {
            "deliver": gateway.deliver,
            "lose requests": gateway.lose_requests,
            "lose answers": gateway.lose_answers,
            "poll": gateway.poll,
        }
        what.get(fault, gateway.catch_up)()
    return gateway


def lag(gateway: Gateway, polls: int) -> None:
    """Freeze the metadata while all replicas catch up and for `polls` more polls, then publish."""
    gateway.kafka.freeze()
    for _ in range(10 * polls):
        gateway.catch_up()
    gateway.kafka.lagging = None
