import pytest

from common.error_codes import ErrorCode
from controller.messages.upstream_events import UpstreamMove, UpstreamPartition
from controller.model.cluster import Reassignment, Replicas, UpstreamStep
from controller.model.errors import DONE, Outcome
from controller.model.upstream_step import Stage
from controller.model.upstream_table import Observation
from controller.upstream.observation import (
    answer_to,
    may_be_outdated,
    observe,
    observe_settled,
    reverts_to_base_only,
)
from tests.builders import partition

OLD, NEW, REPLACED = (1, 2), (3, 4), (5, 2)
REFUSED = Outcome(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no such broker")
LOST = Outcome(ErrorCode.REQUEST_TIMED_OUT)


def step(stage: Stage = Stage.ACTIVE, base: Replicas = OLD, replaced: Replicas = ()) -> UpstreamStep:
    """A step at leader epoch 7."""
    return UpstreamStep("foo", 0, base, NEW, stage, replaced, 7)


def shown(replicas: Replicas, isr: Replicas | None = None, epoch: int = 7) -> UpstreamPartition:
    return UpstreamPartition(replicas, replicas if isr is None else isr, replicas[0], epoch)


def seen(stage: Stage, polled: UpstreamPartition, move: UpstreamMove | None = None) -> Observation:
    known = step(stage, replaced=() if stage is Stage.UNDONE else REPLACED)
    return observe(known, partition("foo-0", (3, 4, 1, 2), adding=NEW, removing=OLD), polled, move)


@pytest.mark.parametrize(
    ("target", "observation"),
    [
        ((3, 4), Observation.MOVES_TO_NEXT),
        ((4, 3), Observation.MOVES_TO_NEXT),
        ((2, 5), Observation.MOVES_TO_REPLACED),
        ((1, 6), Observation.MOVES_ELSEWHERE),
    ],
)
def test_a_move_is_recognised_by_its_target(target: Replicas, observation: Observation) -> None:
    move = UpstreamMove((*target, 8), (), (8,))
    assert seen(Stage.SUBMITTING, shown(OLD), move) is observation


@pytest.mark.parametrize(
    ("stage", "polled", "observation"),
    [
        (Stage.ACTIVE, shown((3, 4)), Observation.AT_NEXT),
        (Stage.ACTIVE, shown((3, 4), (3,)), Observation.AT_NEXT_LAGGING),
        (Stage.SUBMITTING, shown((1, 2)), Observation.AT_BASE),
        (Stage.ACTIVE, shown((1, 2)), Observation.OUTDATED),
        (Stage.ACTIVE, shown((1, 2), epoch=8), Observation.ELSEWHERE),
        (Stage.ACTIVE, shown((3, 4, 1, 2)), Observation.OUTDATED),
        (Stage.ACTIVE, shown((5, 2)), Observation.AT_REPLACED),
        (Stage.ACTIVE, shown((5, 6)), Observation.ELSEWHERE),
        (Stage.UNDOING, shown((1, 2)), Observation.OUTDATED),
        (Stage.UNDOING, shown((1, 2), epoch=8), Observation.ELSEWHERE),
        (Stage.UNDOING, shown((3, 4)), Observation.REVERTED),
        (Stage.ENDED, shown((6,)), Observation.AT_NEXT),
    ],
)
def test_an_idle_partition_is_recognised_by_its_list_isr_and_epoch(
    stage: Stage, polled: UpstreamPartition, observation: Observation
) -> None:
    assert seen(stage, polled) is observation


def test_a_replaced_add_only_step_may_be_shown_in_its_middle() -> None:
    known = step(replaced=(1, 2, 5))
    polled = shown((1, 2, 5), (1, 2))
    assert observe(known, partition("foo-0", (3, 4, 1, 2)), polled, None) is Observation.AT_REPLACED_OUTDATED


def test_a_confirmed_undo_with_one_possible_result_needs_no_metadata() -> None:
    known = step(Stage.UNDONE)
    assert reverts_to_base_only(known)
    assert observe(known, partition("foo-0", (3, 4, 1, 2)), shown((3, 4, 1, 2)), None) is Observation.REVERTED
    assert not reverts_to_base_only(step(Stage.UNDONE, base=(2, 1)))


def test_a_confirmed_undo_with_two_possible_results_needs_a_later_epoch() -> None:
    known, now = step(Stage.UNDONE, base=(2, 1)), partition("foo-0", (3, 4, 1, 2))
    assert observe(known, now, shown((2, 1)), None) is Observation.OUTDATED
    assert observe(known, now, shown((3, 4, 1, 2), epoch=8), None) is Observation.OUTDATED
    assert observe(known, now, shown((6,), epoch=8), None) is Observation.ELSEWHERE
    assert observe(known, now, shown((1, 2), epoch=8), None) is Observation.REVERTED


def test_the_base_list_proves_no_undo_that_may_have_reordered_it() -> None:
    """A leader may have changed before the step, unseen, which gives the old list a later epoch."""
    known, now = step(Stage.UNDONE, base=(2, 1)), partition("foo-0", (3, 4, 1, 2))
    assert observe(known, now, shown((2, 1), epoch=8), None) is Observation.AT_BASE


def test_any_epoch_may_be_outdated_after_a_confirmed_undo() -> None:
    assert may_be_outdated(step(Stage.UNDONE), shown(OLD, epoch=9))
    assert not may_be_outdated(step(Stage.ACTIVE), shown(OLD, epoch=9))


@pytest.mark.parametrize(
    ("stage", "replicas", "outcome", "observation"),
    [
        (Stage.SUBMITTING, NEW, DONE, Observation.ACCEPTED),
        (Stage.SUBMITTING, NEW, REFUSED, Observation.REFUSED),
        (Stage.SUBMITTING, NEW, LOST, Observation.UNDECIDED),
        (Stage.SUBMITTING, OLD, DONE, None),
        (Stage.SUBMITTING, None, DONE, None),
        (Stage.UNDOING, None, DONE, Observation.ACCEPTED),
        (Stage.UNDOING, NEW, DONE, None),
        (Stage.ACTIVE, NEW, REFUSED, None),
    ],
)
def test_an_answer_counts_for_the_newest_row_only(
    stage: Stage, replicas: Replicas | None, outcome: Outcome, observation: Observation | None
) -> None:
    assert answer_to(step(stage), replicas, outcome) is observation


@pytest.mark.parametrize(
    ("replicas", "isr", "observation"),
    [
        ((1, 2), (1, 2), Observation.AT_EXPECTED),
        ((3, 1), (3, 1), Observation.AT_TARGET),
        ((3, 1), (1,), Observation.AT_TARGET_LAGGING),
        ((2, 1), (2, 1), Observation.CHANGED_EXTERNALLY),
    ],
)
def test_between_two_steps_the_list_is_compared_with_the_target_and_the_last_step(
    replicas: Replicas, isr: Replicas, observation: Observation
) -> None:
    wanted = Reassignment("foo", 0, OLD, (3, 1), 1)
    assert observe_settled(wanted, OLD, partition("foo-0", replicas, isr=isr), None) is observation


def test_a_target_that_adds_nothing_needs_more_than_the_isr() -> None:
    wanted = Reassignment("foo", 0, OLD, (2,), 1)
    assert observe_settled(wanted, OLD, partition("foo-0", (2,)), None) is Observation.AT_TARGET_REDUCED
    assert observe_settled(wanted, (2,), partition("foo-0", (2,)), None) is Observation.AT_TARGET


def test_external_moves_and_their_end_are_recognised_by_the_list_of_reassignments() -> None:
    now, move = partition("foo-0", OLD), UpstreamMove((3, 1, 2), (3,), (1, 2))
    assert observe_settled(None, OLD, now, move) is Observation.MOVED_EXTERNALLY
    assert observe_settled(None, OLD, now, None) is Observation.NOT_MOVED
