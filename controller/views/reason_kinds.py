"""The kinds of reasons why partitions do not move: few fixed words, for metrics.

Reasons are texts for people, with ids and numbers; a metric needs labels of which there are few.
"""

from controller.views.jobs import PartState

PAUSED, SCHEDULE, HEALTH, LIMIT, TURN = "paused", "schedule", "health_guard", "limit", "turn"
BROKER, NO_LEADER, MIN_ISR, DISK = "broker_offline", "no_leader", "min_isr", "disk_space"
BLOCKED, REFUSED, EARLIER, STALLED = "blocked", "refused", "earlier_move", "stalled"
OTHER = "other"

REASON_KINDS = {
    PAUSED: "all reassignments or the job are paused",
    SCHEDULE: "outside of the schedule",
    HEALTH: "the health guard holds",
    LIMIT: "a limit is used up",
    TURN: "other steps start first",
    BROKER: "a broker that the step needs is offline",
    NO_LEADER: "the partition has no leader",
    MIN_ISR: "too few replicas are in sync",
    DISK: "a target broker has too little disk space",
    BLOCKED: "another client changed the partition",
    REFUSED: "the upstream refused the step",
    EARLIER: "an earlier reassignment of the partition ends first",
    STALLED: "the step is in flight and makes no progress",
    OTHER: "any other reason",
}
"""Kind -> meaning, for the docs."""

_BEGINNINGS = {
    "all reassignments are paused": PAUSED,
    "no step starts while the cancel znode exists": PAUSED,
    "job ": PAUSED,
    "the schedule is not valid": SCHEDULE,
    "outside of the schedule": SCHEDULE,
    "the cluster is unhealthy": HEALTH,
    "limit ": LIMIT,
    "pace: ": LIMIT,
    "waits for its turn": TURN,
    "offline: ": BROKER,
    "the partition has no leader": NO_LEADER,
    "too few replicas are in sync": MIN_ISR,
    "not in sync: ": MIN_ISR,
    "broker ": DISK,
    "cancelled by another client": BLOCKED,
    "another client changed": BLOCKED,
    "another client moves it to": BLOCKED,
    "its replicas are": BLOCKED,
    "the upstream refused it": REFUSED,
    "refused by broker": REFUSED,
    "no answer of broker": BROKER,
    "another client move": EARLIER,
    PartState.PENDING.value: EARLIER,
    "target broker": STALLED,
    "all data is copied": STALLED,
    "the log directory receives no data": STALLED,
    "all replicas are in sync": STALLED,
    "the adding replicas receive no data": STALLED,
    "data is produced as fast": STALLED,
}
"""The beginning of a reason -> its kind. The first one that fits counts."""


def reason_kind(reason: str) -> str:
    """Return the kind of a reason of `waiting_reason`, of a queued plan, or of a stalled step."""
    return next((kind for start, kind in _BEGINNINGS.items() if reason.startswith(start)), OTHER)
