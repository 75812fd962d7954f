"""Held requests: a second person approves, and each is carried out once."""

import pytest

from controller.messages.event import Requester
from controller.messages.held_events import DecideHeld, Hold, SubmitHeld
from controller.model.held_requests import HELD_MS, MOST_HELD, HeldRequest, HeldState
from tests.builders import InMemoryController

ANN, BOB = "User:ann", "User:bob"


@pytest.fixture
def controller() -> InMemoryController:
    controller = InMemoryController()
    hold(controller)
    return controller


def hold(controller: InMemoryController, principal: str = ANN) -> int:
    request = HeldRequest(0, 0, "rebalance", "dryrun=false", "", "10.0.0.1", principal)
    held: HeldRequest = controller.do(Hold(request, Requester(principal))).reply
    return held.id


def states(controller: InMemoryController) -> dict[int, str]:
    return {held.id: held.state.name for held in controller.state.held.by_id.values()}


def approve(controller: InMemoryController, number: int, principal: str = BOB) -> str:
    refusal: str = controller.do(DecideHeld([number], [], "fine", Requester(principal))).reply
    return refusal


def submit(controller: InMemoryController, principal: str = ANN, endpoint: str = "rebalance") -> object:
    return controller.do(SubmitHeld(1, endpoint, Requester(principal))).reply


def test_a_request_that_somebody_else_approves_is_carried_out_once(controller: InMemoryController) -> None:
    assert approve(controller, 1) == ""
    held = submit(controller)
    assert isinstance(held, HeldRequest)
    assert (held.query, held.decided_by, held.reason) == ("dryrun=false", BOB, "fine")
    assert submit(controller) == "request 1 is SUBMITTED"


def test_nobody_approves_his_own_request(controller: InMemoryController) -> None:
    assert "somebody else has to approve it" in approve(controller, 1, ANN)
    assert submit(controller) == "request 1 is PENDING_REVIEW"


def test_a_request_may_be_withdrawn_even_after_its_approval(controller: InMemoryController) -> None:
    approve(controller, 1)
    assert controller.do(DecideHeld([], [1], "no", Requester(ANN))).reply == ""
    assert submit(controller) == "request 1 is DISCARDED"
    assert approve(controller, 1) == "request 1 is DISCARDED"


@pytest.mark.parametrize(
    ("approved", "discarded", "refusal"),
    [
        ([1, 2], [], "there is no request 2"),
        ([1], [1], "a request is named twice"),
        ([], [7], "there is no request 7"),
    ],
)
def test_a_decision_that_is_refused_in_part_changes_nothing(
    controller: InMemoryController, approved: list[int], discarded: list[int], refusal: str
) -> None:
    assert refusal in controller.do(DecideHeld(approved, discarded, "", Requester(BOB))).reply
    assert states(controller) == {1: "PENDING"}


def test_an_approval_is_for_one_client_and_one_endpoint(
    controller: InMemoryController,
) -> None:
    approve(controller, 1)
    assert submit(controller, BOB) == "there is no request 1 of User:bob"
    assert submit(controller, endpoint="add_broker") == "request 1 is one to /rebalance"


def test_a_request_is_forgotten_after_two_weeks(controller: InMemoryController) -> None:
    controller.now_ms += HELD_MS + 1
    assert approve(controller, 1) == "there is no request 1"
    hold(controller)
    assert list(controller.state.held.by_id) == [2]


def test_no_client_drives_out_the_requests_of_others(controller: InMemoryController) -> None:
    for _ in range(MOST_HELD + 3):
        hold(controller, BOB)
    assert len(controller.state.held.by_id) == MOST_HELD
    assert 1 in controller.state.held.by_id


def test_requests_that_are_decided_give_way_first(controller: InMemoryController) -> None:
    controller.do(DecideHeld([], [1], "no", Requester(BOB)))
    for _ in range(MOST_HELD):
        hold(controller, BOB)
    assert list(controller.state.held.by_id) == list(range(2, MOST_HELD + 2))


def test_a_decision_is_known_after_a_restart(controller: InMemoryController) -> None:
    approve(controller, 1)
    assert controller.restart().state.held.by_id[1].state is HeldState.APPROVED
