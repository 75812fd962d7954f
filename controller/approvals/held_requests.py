"""Hold requests, decide about them, and let each be carried out once after its approval."""

from collections.abc import Iterator

from controller.messages.held_events import DecideHeld, Hold, SubmitHeld
from controller.model.held_requests import HeldRequest, HeldState
from controller.state.state import Decision


def hold(d: Decision, event: Hold) -> None:
    """Keep a request."""
    held = event.request._replace(id=d.state.held.next_id(), held_ms=d.now_ms)
    for number in list(d.state.held.outdated(d.now_ms, held)):
        d.delete(HeldRequest, number)
    d.put(held)
    d.answer(event, held)


def decide_held(d: Decision, event: DecideHeld) -> None:
    """Approve and discard, if all of it is possible."""
    refusals = list(_refusals(d, event))
    if refusals:
        d.answer(event, "; ".join(refusals))
        return
    decided = [(number, HeldState.APPROVED) for number in event.approved]
    decided += [(number, HeldState.DISCARDED) for number in event.discarded]
    for number, state in decided:
        held = d.state.held.by_id[number]
        d.put(held._replace(state=state, reason=event.reason, decided_by=event.requester.principal))
    d.answer(event, "")


def _refusals(d: Decision, event: DecideHeld) -> Iterator[str]:
    numbers = [*event.approved, *event.discarded]
    if len({*numbers}) < len(numbers):
        yield "a request is named twice"
    for number in numbers:
        held = d.state.held.find(number, d.now_ms)
        if held is None:
            yield f"there is no request {number}"
            continue
        approves = number in event.approved
        able = {HeldState.PENDING} if approves else {HeldState.PENDING, HeldState.APPROVED}
        if held.state not in able:
            yield f"request {number} is {held.state.value}"
        elif approves and held.principal == event.requester.principal:
            yield f"request {number} is of {held.principal}: somebody else has to approve it"


def submit_held(d: Decision, event: SubmitHeld) -> None:
    """Mark an approved request as carried out."""
    held, principal = d.state.held.find(event.id, d.now_ms), event.requester.principal
    if held is None or held.principal != principal:
        d.answer(event, f"there is no request {event.id} of {principal}")
    elif held.endpoint != event.endpoint:
        d.answer(event, f"request {event.id} is one to /{held.endpoint}")
    elif held.state is not HeldState.APPROVED:
        d.answer(event, f"request {event.id} is {held.state.value}")
    else:
        d.put(held._replace(state=HeldState.SUBMITTED, reason="Submitted approved request."))
        d.answer(event, held)
