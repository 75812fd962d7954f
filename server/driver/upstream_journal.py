"""What happens before a running Kafka, in log lines for people: trouble, and what someone else did to our moves."""

import logging
from collections import Counter

from common.error_codes import ErrorCode
from common.grouping import grouped
from controller.messages.upstream_events import Submitted
from controller.model.cluster import Reassignment
from controller.state.decision import Decision
from controller.state.state import State

log = logging.getLogger(__name__)

NAMED = 5

OVER = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
"""What was to be taken back had just ended."""


class UpstreamJournal:
    """Looks at decisions on what an upstream shows and answers."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._trouble = ""

    def observed(self, decision: Decision) -> None:
        """Something was seen, or cannot be."""
        self.trouble()
        reasons = grouped(
            (change.blocked, str(change.key))
            for change in decision.changes
            if type(change) is Reassignment and change.blocked
        )
        for reason, names in reasons.items():
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            log.warning(
                "%s%s: %s; order it again, cancel it, or resume its job",
                ", ".join(names[:NAMED]),
                more,
                reason,
            )

    def trouble(self) -> None:
        """The health guard may hold, or let go."""
        now = self._state.health_problem
        if now and now != self._trouble and self._state.unreachable:
            log.warning("nothing starts, the upstream cannot be looked at: %s", now)
        elif now and now != self._trouble:
            log.warning("the cluster is not well, only what repairs it starts: %s", now)
        elif self._trouble and not now:
            log.info("the cluster is well again")
        self._trouble = now

    def submitted(self, event: Submitted) -> None:
        """Rows that the upstream refused, by its reason."""
        refused = Counter(
            outcome.text for _, _, outcome in event.rows if not outcome.ok and outcome.error is not OVER
        )
        for reason, times in refused.most_common(NAMED):
            log.warning("the upstream refused %d of %d rows: %s", times, len(event.rows), reason)
