"""Model of one partition for a client that knows only which requests were acknowledged.

A move may have ended before the next request or not. A request without an answer may have been carried out or
not. The model keeps every `PossibleState` and removes the states that an observation excludes. When no state
is left, an acknowledged change has been lost.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

Replicas = tuple[int, ...]
Key = tuple[str, int]

HISTORY_SHOWN = 12
"""Number of past events in the message of a LostError."""


class LostError(AssertionError):
    """An acknowledged change is missing, or the server shows a change that no request asked for."""


class Pending(NamedTuple):
    """A queued target, which starts after the partition has returned to its original.

    `tag` names the plan.
    """

    tag: str
    target: Replicas


class PossibleState(NamedTuple):
    """One possible state: settled at `original` if `target` is None, else moving to `target`."""

    original: Replicas
    target: Replicas | None = None
    pending: Pending | None = None


Transition = Callable[[PossibleState], Iterable[PossibleState]]
"""Maps a state to the states after an accepted request; to none if the request would have been refused."""


def moving_or_settled(original: Replicas, target: Replicas) -> PossibleState:
    """Return the state of a move, or the settled state if both lists are equal."""
    return PossibleState(original) if original == target else PossibleState(original, target)


def order(target: Replicas) -> Transition:
    """A new target. The first original is kept, and a queued target is dropped."""

    def transition(state: PossibleState) -> Iterator[PossibleState]:
        if state.target is None:
            yield moving_or_settled(state.original, target)
        else:
            yield PossibleState(state.original, target)

    return transition


def queue(tag: str, target: Replicas) -> Transition:
    """A queued target. A moving partition returns to its original first (KIP-236)."""

    def transition(state: PossibleState) -> Iterator[PossibleState]:
        if state.target is None:
            yield moving_or_settled(state.original, target)
        else:
            yield PossibleState(state.original, state.original, Pending(tag, target))

    return transition


def cancel(state: PossibleState) -> Iterator[PossibleState]:
    """Return to the original and drop a queued target. Refused if the partition does not move."""
    if state.target is not None:
        yield PossibleState(state.original, state.original)


def withdraw(tag: str) -> Transition:
    """Drop the queued target of the plan `tag`."""

    def transition(state: PossibleState) -> Iterator[PossibleState]:
        ours = state.pending is not None and state.pending.tag == tag
        yield state._replace(pending=None) if ours else state

    return transition


def roll_back_job(tag: str, found: Replicas) -> Transition:
    """Roll back a job to `found`, the replicas before the job. Refused if another plan is queued."""

    def transition(state: PossibleState) -> Iterator[PossibleState]:
        if state.pending is not None and state.pending.tag == tag:
            yield state._replace(pending=None)
        elif state.pending is None:
            yield from order(found)(state)

    return transition


def reachable_states(state: PossibleState) -> Iterator[PossibleState]:
    """Yield the state and the states that it reaches without further requests."""
    yield state
    while state.target is not None:
        pending = state.pending
        state = (
            PossibleState(state.target)
            if pending is None
            else moving_or_settled(state.target, pending.target)
        )
        yield state


class ObservedPartition(NamedTuple):
    """The server's state of a partition: target (None if it does not move), replicas and queued target."""

    target: Replicas | None
    replicas: Replicas
    pending: Replicas | None


def describe(states: Iterable[PossibleState]) -> str:
    """Return the states as text."""
    return " or ".join(
        sorted(f"{each.original}->{each.target} {each.pending or ''}".strip() for each in states)
    )


class PartitionModel:
    """All states that a partition can be in."""

    def __init__(self, replicas: Replicas) -> None:
        self.states = {PossibleState(replicas)}
        self.history = [f"created at {replicas}"]

    def acknowledge(self, transition: Transition, tag: str = "") -> None:
        """Apply an acknowledged request. Raises LostError if no possible state allows it."""
        self.states = {each for state in self._current_states() for each in transition(state)}
        self.history.append(f"{tag} acknowledged: {describe(self.states)}")
        if not self.states:
            raise self._lost("a request was accepted that had to be refused")

    def mark_unanswered(self, transition: Transition, tag: str = "") -> None:
        """Apply a request without an answer: it may have been carried out or not."""
        self.history.append(f"{tag} not answered")
        now = self._current_states()
        self.states = now | {each for state in now for each in transition(state)}

    def consistent_states(self, seen: ObservedPartition) -> set[PossibleState]:
        """Return the states that explain the observation. Raises LostError if there is none.

        The queue was read first, then the reassignments. Replicas are compared only where the partition does
        not move.
        """
        queued = {
            state
            for state in self._current_states()
            if (None if state.pending is None else state.pending.target) == seen.pending
        }
        fitting = {
            state
            for earlier in queued
            for state in reachable_states(earlier)
            if state.target == seen.target and (state.target is not None or state.original == seen.replicas)
        }
        if not fitting:
            raise self._lost(f"{seen} is seen where {describe(self.states)} were expected")
        return fitting

    def settle(self, states: set[PossibleState]) -> None:
        """Keep only these states."""
        if states != self.states:
            self.history.append(f"seen: {describe(states)}")
        self.states = states

    def final_replicas(self) -> set[Replicas]:
        """Return the replica lists at which the partition can end."""
        return {list(reachable_states(state))[-1].original for state in self.states}

    def set_original(self, original: Replicas) -> None:
        """Apply the original that the server reports for the request that was accepted last."""
        moving = {state for state in self.states if state.target is not None}
        self.history.append(f"found at {original}")
        if not any(state.original == original for state in moving):
            raise self._lost(f"the original is {original} where one of {describe(moving)} was expected")
        self.states = {state for state in moving if state.original == original}

    def _lost(self, what: str) -> LostError:
        """Return the error, with the latest events of the partition."""
        return LostError(f"{what}; before: {'; '.join(self.history[-HISTORY_SHOWN:])}")

    def _current_states(self) -> set[PossibleState]:
        return {each for state in self.states for each in reachable_states(state)}


class ValueModel:
    """Model of one setting: the last acknowledged value, and later values without an answer."""

    def __init__(self, name: str, value: object) -> None:
        self.name = name
        self.values = [value]

    def acknowledge(self, value: object) -> None:
        """Record an acknowledged value."""
        self.values = [value]

    def mark_unanswered(self, value: object) -> None:
        """Record a value without an answer."""
        self.values = [*self.values, value]

    def check(self, value: object) -> None:
        """Raise LostError if the value is not possible."""
        if value not in self.values:
            raise LostError(f"{self.name} is {value}, expected one of {self.values}")
        self.values = [value]
