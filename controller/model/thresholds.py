"""How long the upstream must show a discrepancy before reassignd acts on it: all thresholds, in one place.

A poll asks the controller for its reassignments, then one broker for Metadata. That broker publishes what the
controller committed some milliseconds later, and seconds later when it has many replicas to create or to
delete. So one poll proves little. Polls also follow each other at very different intervals; therefore a
threshold counts both polls and time.
"""

from enum import Enum
from typing import NamedTuple

MAX_POLL_GAP_MS = 1_000
"""The most that the time between two polls adds to a sighting: nothing is known of the time without polls."""
MIN_RESEND_PAUSE_MS, MAX_RESEND_PAUSE_MS = 100, 15_000
"""The first and the longest pause before a row without effect is sent again; each pause doubles the time
waited."""
TOPIC_REMOVED_MS = 10_000
"""How long polls must miss a topic, or show another topic of its name, before it counts as removed."""


class Discrepancy(Enum):
    """A difference between what was requested of the upstream and what a poll shows."""

    NOT_IN_SYNC = "the step's list, with an added replica out of sync"
    NOT_STARTED = "a list from before the end of the step, after a row that requests the step"
    NOT_UNDONE = "a reassignment in progress, after a row that cancels it"
    NOT_REPLACED = "the cancelled step in progress, after a row that restores its base list"
    EXTERNAL_CHANGE = "replicas that nothing of ours led to"
    EXTERNAL_MOVE = "a reassignment to another target than ours"
    EXTERNAL_MOVE_ENDED = "no reassignment any more, where a queued plan waits for its end"
    NOT_LEADING = "another leader than the preferred one"


class Threshold(NamedTuple):
    """The consecutive polls and the time that a sighting needs before it is acted on."""

    polls: int
    ms: int
    survives_outage: bool = False
    """Sightings that need long are kept while the upstream is unreachable: outages may come more often."""


EXTERNAL_MOVE = Threshold(10, 2_000)
EXTERNAL_CHANGE = Threshold(10, 10_000, survives_outage=True)
"""Longer than for a move, because a wrong conclusion blocks the partition until an operator acts."""
METADATA_LAG = Threshold(20, 60_000, survives_outage=True)
"""Longer than any broker's Metadata lags behind the controller."""
ELECTION = Threshold(10, 10_000)
"""Longer than a busy controller needs for an election, of which the next Metadata tells. A step that ends
earlier leaves the leader where it was, and nothing elects the preferred one later."""

CONFIRMED_AFTER: dict[Discrepancy, Threshold] = {
    Discrepancy.NOT_IN_SYNC: METADATA_LAG,
    Discrepancy.EXTERNAL_CHANGE: EXTERNAL_CHANGE,
    Discrepancy.EXTERNAL_MOVE: EXTERNAL_MOVE,
    Discrepancy.EXTERNAL_MOVE_ENDED: EXTERNAL_CHANGE,
    Discrepancy.NOT_LEADING: ELECTION,
}
"""Discrepancies that are acted on once. Every other one means that a row had no effect: it is sent again,
with pauses."""
