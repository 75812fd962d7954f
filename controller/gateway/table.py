"""The transition table of a step that an upstream Kafka executes.

A step is at a `Stage`, which is durable (`controller.model.upstream_step`). Three things act on it:

* a poll of the upstream, reduced to an `Observation` (`controller.gateway.observation`);
* the upstream's answer to a row that was sent, an `Observation` too;
* a `Command` of the reassignment that the step belongs to (`controller.gateway.steps`).

`TABLE` maps a stage and an observation to the action, to the discrepancy that must be confirmed before, and
to the stages that the action may lead to. `COMMANDS` maps a stage and a command to the next stage. A pair
that is in neither is a programming error and raises KeyError. The diagram in docs/ is drawn from both.

SETTLED also stands for a partition without a record: no step was requested since its reassignment began. A
step that ends without a reassignment is deleted, and so is every step of a topic that was removed.
"""

from enum import StrEnum
from typing import NamedTuple

from controller.model.thresholds import Discrepancy
from controller.model.upstream_step import Stage


class Observation(StrEnum):
    """What a poll shows of a partition, or what the upstream answers, compared with the partition's step."""

    __hash__ = str.__hash__  # Enum's own is Python code, and every poll looks up each step in flight

    # A step is in flight, and the upstream's list of reassignments has the partition.
    MOVES_TO_NEXT = "moves to the next list"
    NEVER_ENDS = "moves to the next list, never ends"
    MOVES_TO_CANCELLED = "moves to the cancelled list"
    MOVES_ELSEWHERE = "moves elsewhere"

    # A step is in flight, and the list of reassignments does not have the partition.
    AT_NEXT = "at the next list"
    AT_NEXT_LAGGING = "at the next list, not in sync"
    AT_CANCELLED = "at the cancelled list"
    REVERTED = "reverted"
    ELSEWHERE = "elsewhere"
    OUTDATED = "at a list that it has had lately"

    # The answer to the row that was sent last.
    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNDECIDED = "no answer, or one that decides nothing"

    # No step is in flight.
    MOVED_EXTERNALLY = "moved by another client"
    AT_EXPECTED = "where the last step ended"
    AT_TARGET = "at the target"
    AT_TARGET_LAGGING = "at the target, not in sync"
    AT_TARGET_REDUCED = "at the target, nothing added"
    CHANGED_EXTERNALLY = "changed by another client"
    NOT_MOVED = "not moved, a plan is queued"


class Action(StrEnum):
    """What reassignd does then (`controller.gateway.reconciliation`)."""

    CONTINUE = "continue"
    """The step goes on; nothing to do."""
    ACTIVATE = "activate"
    """The upstream has the step."""
    RESEND = "resend"
    """Send the row again, after a pause that grows."""
    UNDO = "undo"
    """Only a cancel ends the move: undo the step."""
    END = "end"
    """The step has ended at the replicas shown."""
    ADVANCE = "advance"
    """The reassignment takes the ended step over, or waits for the preferred leader."""
    GIVE_UP = "give up"
    """Another client decided otherwise: forget the step, and block the reassignment."""
    WITHDRAW = "withdraw"
    """The upstream refused the step: the reassignment waits."""
    RESTORE = "restore the base list"
    """The upstream has cancelled: send a row that leads to the base list."""
    KEEP = "keep"
    """The upstream refused to cancel: the step goes on."""
    IGNORE = "ignore"
    """The broker may lag: what it shows is worth nothing."""
    RESUME = "resume"
    """The partition is as expected again; what waited may be tried."""
    SETTLE = "settle"
    """The reassignment takes over the replicas shown."""
    BLOCK = "block"
    """Another client changed the replicas: wait for an operator."""
    START_QUEUED = "start the queued plan"
    """The other client's reassignment has ended."""


class Command(StrEnum):
    """What a reassignment does to its step."""

    REQUEST = "request"
    UNDO = "undo"
    TAKE_OVER = "take over"


class Rule(NamedTuple):
    """`action` is done at once, or when `discrepancy` has been seen for long enough.

    `to` are the stages that the action may lead to. A command that follows in the same decision has its own
    row.
    """

    action: Action
    to: frozenset[Stage]
    discrepancy: Discrepancy | None = None


def _rule(action: Action, *to: Stage, after: Discrepancy | None = None) -> Rule:
    return Rule(action, frozenset(to), after)


SUBMITTING, ACTIVE, UNDOING, ENDED, SETTLED = Stage
_Seen, _Not = Observation, Discrepancy

_IN_FLIGHT: dict[tuple[Stage, Observation], Rule] = {
    (SUBMITTING, _Seen.MOVES_TO_NEXT): _rule(Action.ACTIVATE, ACTIVE),
    (ACTIVE, _Seen.MOVES_TO_NEXT): _rule(Action.CONTINUE, ACTIVE),
    (UNDOING, _Seen.MOVES_TO_NEXT): _rule(Action.RESEND, UNDOING, after=_Not.NOT_UNDONE),
    # The row of the step met a move that a late row or another client had begun, and drops what that one
    # adds.
    (SUBMITTING, _Seen.NEVER_ENDS): _rule(Action.UNDO, UNDOING),
    (ACTIVE, _Seen.NEVER_ENDS): _rule(Action.UNDO, UNDOING),
    # A late row has requested the cancelled step again, and the row that restores its base comes after that.
    (SUBMITTING, _Seen.MOVES_TO_CANCELLED): _rule(Action.RESEND, SUBMITTING, after=_Not.NOT_REPLACED),
    (ACTIVE, _Seen.MOVES_TO_CANCELLED): _rule(Action.RESEND, ACTIVE, after=_Not.NOT_REPLACED),
    (UNDOING, _Seen.MOVES_TO_CANCELLED): _rule(Action.RESEND, UNDOING, after=_Not.NOT_UNDONE),
    (SUBMITTING, _Seen.MOVES_ELSEWHERE): _rule(Action.GIVE_UP, SETTLED, after=_Not.EXTERNAL_MOVE),
    (ACTIVE, _Seen.MOVES_ELSEWHERE): _rule(Action.GIVE_UP, SETTLED, after=_Not.EXTERNAL_MOVE),
    (UNDOING, _Seen.MOVES_ELSEWHERE): _rule(Action.GIVE_UP, SETTLED, after=_Not.EXTERNAL_MOVE),
    (ACTIVE, _Seen.AT_NEXT): _rule(Action.END, ENDED),
    # While a step only adds replicas, its next list is also what Metadata shows in its middle. So a broker
    # that lags shows this, too, when another client has just cancelled the step.
    (SUBMITTING, _Seen.AT_NEXT_LAGGING): _rule(Action.END, ENDED, after=_Not.NOT_IN_SYNC),
    (ACTIVE, _Seen.AT_NEXT_LAGGING): _rule(Action.END, ENDED, after=_Not.NOT_IN_SYNC),
    (UNDOING, _Seen.AT_NEXT_LAGGING): _rule(Action.END, ENDED, after=_Not.NOT_IN_SYNC),
    # A broker that lags shows lists from before the row or from its middle. If the row may be lost, it is
    # sent again: that changes nothing if it is not, and the answer is a proof.
    (SUBMITTING, _Seen.OUTDATED): _rule(Action.RESEND, SUBMITTING, after=_Not.NOT_STARTED),
    (ACTIVE, _Seen.OUTDATED): _rule(Action.IGNORE, ACTIVE),
    (UNDOING, _Seen.OUTDATED): _rule(Action.IGNORE, UNDOING),
    # The step that was to be cancelled has ended.
    (SUBMITTING, _Seen.AT_CANCELLED): _rule(Action.END, ENDED, after=_Not.EXTERNAL_CHANGE),
    (SUBMITTING, _Seen.ELSEWHERE): _rule(Action.GIVE_UP, SETTLED, after=_Not.EXTERNAL_CHANGE),
    (ACTIVE, _Seen.ELSEWHERE): _rule(Action.GIVE_UP, SETTLED, after=_Not.EXTERNAL_CHANGE),
    # An undo without a confirmation has no next list to wait for: any new list ends it.
    (UNDOING, _Seen.REVERTED): _rule(Action.END, ENDED),
    (UNDOING, _Seen.ELSEWHERE): _rule(Action.END, ENDED, after=_Not.EXTERNAL_CHANGE),
    # The next step must not replace what another client has begun since the step ended.
    (ENDED, _Seen.AT_NEXT): _rule(Action.ADVANCE, ENDED, SETTLED),
    (ENDED, _Seen.MOVES_ELSEWHERE): _rule(Action.GIVE_UP, SETTLED, after=_Not.EXTERNAL_MOVE),
}

_ANSWERED: dict[tuple[Stage, Observation], Rule] = {
    (SUBMITTING, _Seen.ACCEPTED): _rule(Action.ACTIVATE, ACTIVE),
    (SUBMITTING, _Seen.REFUSED): _rule(Action.WITHDRAW, SETTLED),
    (SUBMITTING, _Seen.UNDECIDED): _rule(Action.CONTINUE, SUBMITTING),
    (UNDOING, _Seen.ACCEPTED): _rule(Action.RESTORE, SUBMITTING, SETTLED),
    (UNDOING, _Seen.REFUSED): _rule(Action.KEEP, ACTIVE),
    (UNDOING, _Seen.UNDECIDED): _rule(Action.CONTINUE, UNDOING),
}

_SETTLED: dict[tuple[Stage, Observation], Rule] = {
    (SETTLED, _Seen.MOVED_EXTERNALLY): _rule(Action.RESUME, SETTLED),
    (SETTLED, _Seen.AT_EXPECTED): _rule(Action.RESUME, SETTLED),
    (SETTLED, _Seen.AT_TARGET): _rule(Action.SETTLE, SETTLED),
    (SETTLED, _Seen.AT_TARGET_LAGGING): _rule(Action.SETTLE, SETTLED, after=_Not.NOT_IN_SYNC),
    (SETTLED, _Seen.AT_TARGET_REDUCED): _rule(Action.SETTLE, SETTLED, after=_Not.EXTERNAL_CHANGE),
    (SETTLED, _Seen.CHANGED_EXTERNALLY): _rule(Action.BLOCK, SETTLED, after=_Not.EXTERNAL_CHANGE),
    (SETTLED, _Seen.NOT_MOVED): _rule(Action.START_QUEUED, SETTLED, after=_Not.EXTERNAL_MOVE_ENDED),
}

TABLE: dict[tuple[Stage, Observation], Rule] = {**_IN_FLIGHT, **_ANSWERED, **_SETTLED}

COMMANDS: dict[tuple[Stage, Command], Stage] = {
    (SETTLED, Command.REQUEST): SUBMITTING,
    (SUBMITTING, Command.REQUEST): SUBMITTING,
    (ACTIVE, Command.REQUEST): SUBMITTING,
    (SETTLED, Command.UNDO): UNDOING,
    (SUBMITTING, Command.UNDO): UNDOING,
    (ACTIVE, Command.UNDO): UNDOING,
    (ENDED, Command.TAKE_OVER): SETTLED,
}
"""A request while a step is in flight changes the order that it gives; an undo without a step of ours cancels
another client's."""
