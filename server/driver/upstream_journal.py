"""The log of decisions about an upstream Kafka: health, refused rows, and changes by other clients."""

import logging
from collections import Counter

from common.error_codes import ErrorCode
from common.lists import grouped
from common.wording import counted, some
from controller.messages.upstream_events import Submitted
from controller.model.cluster import Reassignment
from controller.state.decision import Decision
from controller.state.state import State

log = logging.getLogger(__name__)

NAMED = 5

NOT_REFUSED = {ErrorCode.NONE, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, ErrorCode.REQUEST_TIMED_OUT}
"""The second one answers the cancel of a step that ended a moment before. The third one stands for no answer,
which is logged where rows are sent: they may have taken effect."""


class UpstreamJournal:
    """Logs decisions on polls and responses of the upstream."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._trouble = ""

    def observed(self, decision: Decision) -> None:
        """Log changes of the cluster's health, and the reassignments that became blocked."""
        self.trouble()
        reasons = grouped(
            (change.blocked, str(change.key))
            for change in decision.changes
            if type(change) is Reassignment and change.blocked
        )
        for reason, names in reasons.items():
            log.warning(
                "%s: %s; submit it again, cancel it, or resume its job",
                some(names, NAMED),
                reason,
                extra={"event": "partitions_blocked", "fields": {"partitions": len(names)}},
            )

    def trouble(self) -> None:
        """Log it when the health guard begins or ceases to hold steps."""
        now = self._state.health_problem
        if now and now != self._trouble and self._state.unreachable:
            what = {"event": "upstream_unreachable"}
            log.warning("nothing starts, the upstream cannot be polled: %s", now, extra=what)
        elif now and now != self._trouble:
            what = {"event": "cluster_unhealthy"}
            log.warning("the cluster is unhealthy, only steps that repair it start: %s", now, extra=what)
        elif self._trouble and not now:
            log.info("the health guard lets steps start again", extra={"event": "cluster_healthy"})
        self._trouble = now

    def submitted(self, event: Submitted) -> None:
        """Log the rows that the upstream refused, by reason."""
        refused = Counter(outcome.text for _, _, outcome in event.rows if outcome.error not in NOT_REFUSED)
        for reason, times in refused.most_common(NAMED):
            rows = counted(len(event.rows), "row")
            what = {"event": "rows_refused", "fields": {"rows": times}}
            log.warning("the upstream refused %d of %s: %s", times, rows, reason, extra=what)
