"""The model of a partition accepts exactly what acknowledged and unanswered requests allow."""

import pytest

from campaigns.partition_model import (
    LostError,
    ObservedPartition,
    PartitionModel,
    Pending,
    PossibleState,
    Transition,
    ValueModel,
    cancel,
    order,
    queue,
    roll_back_job,
)

A, B, C = (1, 2), (3, 4), (5, 6)


def model_after(*transitions: Transition) -> PartitionModel:
    model = PartitionModel(A)
    for transition in transitions:
        model.acknowledge(transition)
    return model


def test_an_acknowledged_target_is_ongoing_or_reached() -> None:
    moved = model_after(order(B))
    moved.consistent_states(ObservedPartition(B, (), None))
    moved.consistent_states(ObservedPartition(None, B, None))
    with pytest.raises(LostError):
        moved.consistent_states(ObservedPartition(None, A, None))


def test_a_finished_move_has_the_order_of_the_target() -> None:
    with pytest.raises(LostError):
        model_after(order(B)).consistent_states(ObservedPartition(None, B[::-1], None))


def test_an_unanswered_request_leaves_two_possible_ends() -> None:
    model = model_after(order(B))
    model.mark_unanswered(order(C))
    assert model.final_replicas() == {B, C}


def test_an_observation_decides_an_unanswered_request() -> None:
    model = model_after(order(B))
    model.mark_unanswered(order(C))
    model.states = model.consistent_states(ObservedPartition(C, (), None))
    assert model.final_replicas() == {C}


def test_a_cancel_leads_to_the_original() -> None:
    assert model_after(order(B), cancel).final_replicas() == {A}
    assert model_after(order(B), order(C), cancel).final_replicas() == {A, B}


def test_a_cancel_without_a_move_is_not_accepted() -> None:
    with pytest.raises(LostError):
        model_after(cancel)


def test_a_queued_target_starts_after_the_rollback() -> None:
    queued = model_after(order(B), queue("q", C))
    queued.consistent_states(ObservedPartition(A, (), C))
    queued.consistent_states(ObservedPartition(C, (), None))
    assert queued.final_replicas() == {C}


def test_a_new_target_drops_the_queued_one() -> None:
    assert list(order(B)(PossibleState(A, A, Pending("q", C)))) == [PossibleState(A, B)]


def test_a_rollback_keeps_the_queued_target_of_another_job() -> None:
    assert list(roll_back_job("other", A)(PossibleState(A, A, Pending("q", C)))) == []


def test_a_queued_target_that_was_rolled_back_does_not_start() -> None:
    queued = PartitionModel(A)
    queued.states = {PossibleState(A, A, Pending("q", C))}
    queued.acknowledge(roll_back_job("q", A))
    queued.consistent_states(ObservedPartition(A, (), None))
    with pytest.raises(LostError):
        queued.consistent_states(ObservedPartition(A, (), C))


def test_a_rollback_leads_to_the_replicas_before_the_job() -> None:
    assert model_after(order(B), roll_back_job("other", A)).final_replicas() == {A}


def test_the_reported_original_must_be_possible() -> None:
    with pytest.raises(LostError):
        model_after(order(B)).set_original(C)


def test_a_value_is_the_last_acknowledged_or_an_unanswered_one() -> None:
    limit = ValueModel("limit P", None)
    limit.acknowledge(5)
    limit.mark_unanswered(7)
    limit.check(7)
    with pytest.raises(LostError, match=r"limit P is 5, expected one of \[7\]"):
        limit.check(5)
