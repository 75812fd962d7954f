"""`POST /admin`: limits of the cluster, and brokers that may get replicas again.

What reassignd does not have cannot be switched on; to switch it off is accepted, as it is off.
"""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, field

from server.api.resources.limits import alter_limits, limit_rows
from server.api.resources.placement import alter_excluded
from server.api.shared.cordons import follow_cordons
from server.cruisecontrol.endpoints.state import ANOMALIES
from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.errors import bad_parameter, not_offered
from server.cruisecontrol.shared.optimization import check_brokers
from server.cruisecontrol.shared.parameters import Brokers, Names, Parameters, ReviewId, refuse_review
from server.cruisecontrol.shared.plan_parameters import Count

ADJUSTERS = ("INTER_BROKER_REPLICA", "INTRA_BROKER_REPLICA", "LEADERSHIP")
"""What Cruise Control could adjust the concurrency of."""


class AdminParameters(Parameters, kw_only=True):
    """What is changed."""

    concurrent_partition_movements_per_broker: Annotated[
        Count | None, Meta(description="Limit B of the cluster.")
    ] = None
    max_partition_movements_in_cluster: Annotated[
        Count | None, Meta(description="Limit C of the cluster.")
    ] = None
    concurrent_leader_movements: Annotated[Count | None, Meta(description="Limit L of the cluster.")] = None
    broker_concurrent_leader_movements: Annotated[
        Count | None, Meta(description="No effect: limit L is the cluster's.")
    ] = None
    concurrent_intra_broker_partition_movements: Annotated[
        Count | None, Meta(description="No effect: `reassignment.disk.moves.per.broker` is the limit.")
    ] = None
    execution_progress_check_interval_ms: Annotated[
        Annotated[int, Meta(ge=5000)] | None,
        Meta(description="No effect: progress is always followed."),
    ] = None
    enable_self_healing_for: Annotated[
        Names, Meta(description="Refused: reassignd changes nothing without a request.")
    ] = field(default_factory=list)
    disable_self_healing_for: Annotated[Names, Meta(description="Accepted: it is off.")] = field(
        default_factory=list
    )
    enable_concurrency_adjuster_for: Annotated[
        Names, Meta(description="Refused: `reassignd pace` adjusts the throttle instead.")
    ] = field(default_factory=list)
    disable_concurrency_adjuster_for: Annotated[Names, Meta(description="Accepted: it is off.")] = field(
        default_factory=list
    )
    min_isr_based_concurrency_adjustment: Annotated[
        bool | None, Meta(description="No effect: steps always keep `min.insync.replicas`.")
    ] = None
    drop_recently_removed_brokers: Annotated[
        Brokers, Meta(description="Brokers that may get new partitions and replicas again.")
    ] = field(default_factory=list)
    drop_recently_demoted_brokers: Annotated[
        Brokers, Meta(description="No effect: no list of demoted brokers is kept.")
    ] = field(default_factory=list)
    review_id: ReviewId = None


LIMITS = {
    "concurrent_partition_movements_per_broker": "B",
    "max_partition_movements_in_cluster": "C",
    "concurrent_leader_movements": "L",
}
"""By parameter."""


class AdminAnswer(Struct, rename="camel"):
    """What was changed. Fields of what was not asked for are absent."""

    self_healing_enabled_before: dict[str, bool] | UnsetType = UNSET
    self_healing_enabled_after: dict[str, bool] | UnsetType = UNSET
    concurrency_adjuster_enabled_before: dict[str, bool] | UnsetType = UNSET
    concurrency_adjuster_enabled_after: dict[str, bool] | UnsetType = UNSET
    ongoing_concurrency_change_request: str | UnsetType = UNSET
    drop_recent_brokers_request: str | UnsetType = UNSET
    min_isr_based_concurrency_adjustment_request: str | UnsetType = UNSET
    version: int = 1


async def admin(call: CruiseControlCall, given: AdminParameters) -> AdminAnswer:
    """Change what is asked for; nothing if a part of it is refused."""
    _check(call, given)
    answer = AdminAnswer()
    if given.disable_self_healing_for:
        off = dict.fromkeys(_known(given.disable_self_healing_for, ANOMALIES), False)
        answer.self_healing_enabled_before = answer.self_healing_enabled_after = off
    if given.disable_concurrency_adjuster_for:
        off = dict.fromkeys(_known(given.disable_concurrency_adjuster_for, ADJUSTERS), False)
        answer.concurrency_adjuster_enabled_before = answer.concurrency_adjuster_enabled_after = off
    if given.min_isr_based_concurrency_adjustment is not None:
        answer.min_isr_based_concurrency_adjustment_request = "Steps always keep min.insync.replicas."
    answer.ongoing_concurrency_change_request = await _limit(call, given)
    answer.drop_recent_brokers_request = await _allow(call, given)
    return answer


def _check(call: CruiseControlCall, given: AdminParameters) -> None:
    refuse_review(given.review_id)
    if given.enable_self_healing_for:
        raise not_offered("enable_self_healing_for: reassignd changes nothing without a request.")
    if given.enable_concurrency_adjuster_for:
        raise not_offered(
            "enable_concurrency_adjuster_for: no limit is adjusted; `reassignd pace` adjusts the throttle."
        )
    check_brokers(call.state, given.drop_recently_removed_brokers)


def _known(names: Names, known: tuple[str, ...]) -> list[str]:
    upper = [name.upper() for name in names]
    if unknown := [name for name in upper if name not in known]:
        raise bad_parameter(f"There is no type '{unknown[0][:80]}'; known: {', '.join(known)}.")
    return upper


async def _limit(call: CruiseControlCall, given: AdminParameters) -> str | UnsetType:
    """Change the limits; return what they were and are."""
    asked = {name: getattr(given, parameter) for parameter, name in LIMITS.items()}
    wanted = {name: value for name, value in asked.items() if value is not None}
    if not wanted:
        return UNSET
    before = {row.name: row.limit for row in limit_rows(call.state)}
    await alter_limits(call.call, wanted)
    texts = [f"limit {name}: {before[name] or 'none'} before, {value} now" for name, value in wanted.items()]
    return f"{'; '.join(texts)}. It applies to all jobs."


async def _allow(call: CruiseControlCall, given: AdminParameters) -> str | UnsetType:
    """Let brokers get new partitions again; return which ones."""
    if not given.drop_recently_removed_brokers and not given.drop_recently_demoted_brokers:
        return UNSET
    excluded = call.state.settings.excluded_brokers
    allowed = sorted(excluded.intersection(given.drop_recently_removed_brokers))
    if not allowed:
        return "No broker of these was kept from getting new partitions."
    await alter_excluded(call.call, (), allowed)
    notes = await follow_cordons(call.call, (), allowed)
    return "; ".join([f"Brokers that get new partitions again: {', '.join(map(str, allowed))}", *notes])


ENDPOINTS = (
    Endpoint(
        "POST", "admin", "Change limits, and which brokers get replicas.", AdminParameters, admin, held=True
    ),
)
