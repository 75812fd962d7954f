"""The phases of a partition's reassignment, and the table of what may happen in each.

A phase is derived from the records, never stored, so the two cannot disagree (KIP-455 derives "being
reassigned" from the adding and removing replicas in the same way):

* IDLE: the partition has no reassignment.
* QUEUED: it has one, no step is in flight, and the next step waits for capacity.
* WAITING: as QUEUED, but the next step cannot start; `Orders.waiting` has the reason.
* MOVING: a step is in flight.
* EXTERNAL: reassignd has no reassignment of the partition, but another client moves it in the upstream, or a
  queued target still waits after that move has ended.

`TABLE` maps a phase and a trigger to the action and to the phases that it may lead to. A pair that is not in
the table is refused: for CANCEL that is NO_REASSIGNMENT_IN_PROGRESS. `tools.draw_states` draws the diagram in
docs/ from it. Everything that happens to a partition comes in by `fire`.

NOT IN THE TABLE, and why:

* Rows of requests of `orders.MANY_ROWS` rows and more, as far as they are first orders or cancels that end at
  once: by the table they would take about twice or three times as long. `controller.reassignment.bulk` has
  the result of `fire` for each.
* What an action leads to in the same decision. A step that is complete at once is followed by `after_step`, a
  rollback is a new target, the end of a reassignment starts what is queued behind it: actions call each
  other.
* Ends that nobody orders: a deleted topic ends its reassignments (`reassignments.end_reassignment`), and a
  gateway settles a partition that others have moved to its target (`reassignments.after_step`). Both hold in
  every phase with a reassignment.
* A queued plan behind a move: `Pending` is a record of its own, and starts by `reassignments.follow`.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from common.error_codes import ErrorCode
from controller.model.cluster import Partition, Reassignment, TopicPartition
from controller.model.errors import Outcome
from controller.reassignment import reassignments
from controller.reassignment.reassignments import Order
from controller.state.state import Decision, State


class Phase(StrEnum):
    """The phase of a partition's reassignment."""

    __hash__ = str.__hash__  # Enum's own is Python code, and every row looks the table up

    IDLE = "idle"
    QUEUED = "queued"
    WAITING = "waiting"
    MOVING = "moving"
    EXTERNAL = "external"


class Trigger(StrEnum):
    """What can happen to a partition's reassignment. The values label the diagram."""

    __hash__ = str.__hash__

    ORDER = "a target is requested"
    CANCEL = "cancel or rollback"
    PLAN = "its next step is planned"
    START = "the limits allow it"
    PROGRESS = "ISR, leader or brokers change"
    STALL = "no progress for too long"


Action = Callable[[Decision, Partition, Reassignment, Order], Outcome]


class Transition(NamedTuple):
    """`name` labels the arrow in the diagram; `to` are the phases after the action, refusals included."""

    name: str
    action: Action
    to: frozenset[Phase]


def _row(name: str, action: Action, *to: Phase) -> Transition:
    return Transition(name, action, frozenset(to))


_NO_REASSIGNMENT = Reassignment("", 0, (), ())
_NO_ORDER = Order((), 0)

IDLE, QUEUED, WAITING, MOVING, EXTERNAL = Phase

TABLE: dict[tuple[Phase, Trigger], Transition] = {
    (IDLE, Trigger.ORDER): _row("accept", reassignments.accept, QUEUED, IDLE),
    (EXTERNAL, Trigger.ORDER): _row("adopt", reassignments.adopt, MOVING, QUEUED, IDLE),
    (EXTERNAL, Trigger.CANCEL): _row("undo", reassignments.undo_external, EXTERNAL),
    (QUEUED, Trigger.ORDER): _row("retarget", reassignments.retarget, QUEUED, IDLE),
    (WAITING, Trigger.ORDER): _row("retarget", reassignments.retarget, QUEUED, WAITING, IDLE),
    (MOVING, Trigger.ORDER): _row("redirect", reassignments.redirect, MOVING, QUEUED, IDLE),
    (QUEUED, Trigger.CANCEL): _row("roll back", reassignments.roll_back, IDLE, QUEUED),
    (WAITING, Trigger.CANCEL): _row("roll back", reassignments.roll_back, IDLE, QUEUED, WAITING),
    (MOVING, Trigger.CANCEL): _row("undo", reassignments.roll_back, IDLE, QUEUED, MOVING, EXTERNAL),
    (QUEUED, Trigger.PLAN): _row("plan", reassignments.plan, MOVING, WAITING, QUEUED, IDLE),
    (QUEUED, Trigger.START): _row("start", reassignments.start, MOVING, WAITING, QUEUED, IDLE),
    (MOVING, Trigger.PROGRESS): _row("advance", reassignments.advance, MOVING, QUEUED, IDLE),
    (MOVING, Trigger.STALL): _row("end the step", reassignments.stall, IDLE, QUEUED, MOVING),
    (WAITING, Trigger.PROGRESS): _row("requeue", reassignments.requeue, QUEUED),
}


def phase_of(state: State, key: TopicPartition) -> Phase:
    """Return the phase of an existing partition."""
    if key not in state.orders.reassignments:
        others = key in state.gateway.external or key in state.orders.pending
        return Phase.EXTERNAL if others else Phase.IDLE
    if key in state.in_flight:
        return Phase.MOVING
    return Phase.WAITING if key in state.orders.waiting else Phase.QUEUED


def fire(d: Decision, partition: Partition, trigger: Trigger, order: Order = _NO_ORDER) -> Outcome:
    """Run the table's action for the trigger."""
    key = partition.key
    transition = TABLE.get((phase_of(d.state, key), trigger))
    if transition is None:
        return _REFUSED[trigger]
    return transition.action(d, partition, d.state.orders.reassignments.get(key, _NO_REASSIGNMENT), order)


def fire_at(d: Decision, key: TopicPartition, trigger: Trigger) -> None:
    """As `fire`, but do nothing if the partition does not exist: records may be older than the topics."""
    partition = d.state.cluster.partition(*key)
    if partition is not None:
        fire(d, partition, trigger)


_NOTHING = Outcome()
_REFUSED = {
    Trigger.ORDER: Outcome(ErrorCode.UNKNOWN_SERVER_ERROR),
    Trigger.CANCEL: reassignments.NOTHING_TO_CANCEL,
    Trigger.PLAN: _NOTHING,
    Trigger.START: _NOTHING,
    Trigger.PROGRESS: _NOTHING,
    Trigger.STALL: _NOTHING,
}
"""The outcome of a pair that is not in the table: an error for a client's trigger, none for an internal
one."""
