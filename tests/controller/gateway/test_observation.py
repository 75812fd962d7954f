import pytest

from common.error_codes import ErrorCode
from controller.gateway.events import UpstreamMove, UpstreamPartition
from controller.gateway.observation import answer_to, observe, observe_settled
from controller.gateway.table import Observation
from controller.model.cluster import Reassignment, Replicas, UpstreamStep
from controller.model.errors import DONE, Outcome
from controller.model.upstream_step import Stage
from tests.builders import partition


def test_a_reassignment_leads_to_the_replicas_without_the_removed_ones() -> None:
    assert UpstreamMove((3, 4, 1, 2), (3, 4), (1, 2)).target == (3, 4)


OLD, NEW, REPLACED = (1, 2), (3, 4), (5, 2)
REFUSED = Outcome(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no such broker")
LOST = Outcome(ErrorCode.REQUEST_TIMED_OUT)


def step(stage: Stage = Stage.ACTIVE, base: Replicas = OLD, replaced: Replicas = ()) -> UpstreamStep:
    """A step at leader epoch 7."""
    return UpstreamStep("foo", 0, base, NEW, stage, replaced, 7)


def shown(replicas: Replicas, isr: Replicas | None = None, epoch: int = 7) -> UpstreamPartition:
    return UpstreamPartition(replicas, replicas if isr is None else isr, replicas[0], epoch)


def seen(
    stage: Stage, polled: UpstreamPartition, move: UpstreamMove | None = None, outdated: bool = False
) -> Observation:
    known = step(stage, replaced=REPLACED)
    return observe(known, partition("foo-0", (3, 4, 1, 2), adding=NEW, removing=OLD), polled, move, outdated)


@pytest.mark.parametrize(
    ("target", "observation"),
    [
        ((3, 4), Observation.MOVES_TO_NEXT),
        ((4, 3), Observation.MOVES_TO_NEXT),
        ((2, 5), Observation.MOVES_TO_CANCELLED),
        ((1, 6), Observation.MOVES_ELSEWHERE),
    ],
)
def test_a_move_is_recognised_by_its_target(target: Replicas, observation: Observation) -> None:
    move = UpstreamMove((*target, 8), (), (8,))
    assert seen(Stage.SUBMITTING, shown(OLD), move) is observation


def test_a_move_that_drops_what_it_adds_never_ends() -> None:
    move = UpstreamMove((3, 4, 1, 2, 8), (3, 8), (1, 2, 8))
    assert seen(Stage.ACTIVE, shown(OLD), move) is Observation.NEVER_ENDS
    assert seen(Stage.UNDOING, shown(OLD), move) is Observation.MOVES_TO_NEXT


@pytest.mark.parametrize(
    ("stage", "polled", "observation"),
    [
        (Stage.ACTIVE, shown((3, 4)), Observation.AT_NEXT),
        (Stage.ACTIVE, shown((3, 4), (3,)), Observation.AT_NEXT_LAGGING),
        (Stage.UNDOING, shown((3, 4), (3,)), Observation.AT_NEXT_LAGGING),
        (Stage.SUBMITTING, shown((1, 2)), Observation.OUTDATED),
        (Stage.ACTIVE, shown((1, 2)), Observation.ELSEWHERE),
        (Stage.SUBMITTING, shown((5, 2)), Observation.AT_CANCELLED),
        (Stage.ACTIVE, shown((5, 6)), Observation.ELSEWHERE),
        (Stage.UNDOING, shown((1, 2)), Observation.ELSEWHERE),
        (Stage.UNDOING, shown((2, 1)), Observation.REVERTED),
        (Stage.UNDOING, shown((3, 4)), Observation.REVERTED),
        (Stage.ENDED, shown((6,)), Observation.AT_NEXT),
    ],
)
def test_an_idle_partition_is_recognised_by_its_list_and_isr(
    stage: Stage, polled: UpstreamPartition, observation: Observation
) -> None:
    assert seen(stage, polled) is observation


@pytest.mark.parametrize(
    ("stage", "polled", "observation"),
    [
        (Stage.SUBMITTING, shown((3, 4)), Observation.OUTDATED),
        (Stage.ACTIVE, shown((3, 4)), Observation.AT_NEXT),
        (Stage.UNDOING, shown((3, 4)), Observation.OUTDATED),
        (Stage.ACTIVE, shown((1, 2)), Observation.OUTDATED),
        (Stage.ACTIVE, shown((1, 2), epoch=8), Observation.ELSEWHERE),
        (Stage.SUBMITTING, shown((1, 2), epoch=8), Observation.OUTDATED),
        (Stage.UNDOING, shown((1, 2), epoch=8), Observation.ELSEWHERE),
        (Stage.UNDOING, shown((5, 2)), Observation.OUTDATED),
    ],
)
def test_a_list_that_the_partition_has_had_lately_proves_nothing(
    stage: Stage, polled: UpstreamPartition, observation: Observation
) -> None:
    assert seen(stage, polled, outdated=True) is observation


def test_an_accepted_row_that_moves_nothing_is_complete_whatever_metadata_shows() -> None:
    for base, stage, observation in (
        ((4, 3), Stage.ACTIVE, Observation.AT_NEXT),
        ((4, 3), Stage.SUBMITTING, Observation.OUTDATED),
        (NEW, Stage.SUBMITTING, Observation.OUTDATED),
    ):
        known, now = step(stage, base, OLD), partition("foo-0", NEW)
        assert observe(known, now, shown((4, 3)), None, True) is observation


def test_the_row_after_a_cancel_is_sent_again_whatever_order_the_cancel_has_left() -> None:
    now = partition("foo-0", NEW)
    for seen_list in ((4, 3), NEW):
        assert (
            observe(step(Stage.SUBMITTING, NEW), now, shown(seen_list), None, False) is Observation.OUTDATED
        )


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
