"""Goals that the cluster violates now, as `recentGoalViolations` of Cruise Control's anomaly detector.

Strimzi starts a rebalance when the newest violation is younger than its last rebalance. So a violation has
the time of the count that shows it, and one that no rebalance can mend is not called fixable.
"""

from collections.abc import Sequence
from uuid import NAMESPACE_URL, uuid5

from msgspec import Struct

from server.cruisecontrol.shared.answers import date
from server.cruisecontrol.shared.call import CruiseControlCall
from server.cruisecontrol.shared.goals import FULLEST, MOST_REPLICAS, Evidence, goal_of
from server.cruisecontrol.shared.loads import BrokerRow, counted_rows


class GoalViolation(Struct, rename="camel"):
    """Goals that are violated.

    Cruise Control's JSON has times as numbers, and its text has dates: there are clients for either.
    """

    anomaly_id: str
    detection_ms: int
    status_update_ms: int
    detection_date: str
    status_update_date: str
    fixable_violated_goals: list[str]
    unfixable_violated_goals: list[str]
    status: str = "CHECK_WITH_DELAY"


async def goal_violations(call: CruiseControlCall) -> list[GoalViolation]:
    """Return one violation with all goals that are violated, or none."""
    inventory = await call.context.services.inventories.at_hand()
    rows = counted_rows(call.context, inventory)
    now = Evidence(rows, 0, 0, frozenset())
    violated = [name for name in call.context.detected if goal_of(name).judge(now) is True]
    if not violated:
        return []
    counted_ms = inventory.basis.counted_ms
    seen = date(counted_ms)
    beyond = [name for name in violated if not _can_be_mended(name, rows)]
    identifier = str(uuid5(NAMESPACE_URL, f"{','.join(violated)} {seen}"))
    fixable = [each for each in violated if each not in beyond]
    return [GoalViolation(identifier, counted_ms, counted_ms, seen, seen, fixable, beyond)]


def _can_be_mended(goal: str, rows: Sequence[BrokerRow]) -> bool:
    """Return whether moves can mend the violation: there must be enough room on all brokers together."""
    alive = [row for row in rows if row.alive]
    if goal == "DiskCapacityGoal":
        return sum(row.bytes for row in alive) <= FULLEST * sum(row.capacity or 0 for row in alive)
    if goal == "ReplicaCapacityGoal":
        return sum(row.replicas for row in rows) <= MOST_REPLICAS * len(alive)
    return True
