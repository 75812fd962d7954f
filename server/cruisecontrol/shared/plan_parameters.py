"""The parameters of requests that plan, and those of them that the job gets."""

from typing import Annotated

from msgspec import Meta, field

from server.api.resources.jobs import JobOptions
from server.cruisecontrol.shared.errors import bad_parameter
from server.cruisecontrol.shared.parameters import Names, Parameters, ReviewId, refuse_review, simple_name
from server.cruisecontrol.shared.patterns import topic_pattern

STRATEGIES = (
    "PrioritizeSmallReplicaMovementStrategy",
    "PrioritizeLargeReplicaMovementStrategy",
    "PostponeUrpReplicaMovementStrategy",
    "PrioritizeMinIsrWithOfflineReplicasStrategy",
    "PrioritizeOneAboveMinIsrWithOfflineReplicasStrategy",
    "BaseReplicaMovementStrategy",
)
"""Names that are accepted. Steps start in the order of reassignd's own rules."""

Count = Annotated[int, Meta(ge=1, le=2**31 - 1)]


AtOnce = Annotated[Count | None, Meta(description="Limit B of the job that moves between directories.")]


class GoalParameters(Parameters, kw_only=True):
    """What the plan depends on, and how it is shown."""

    verbose: Annotated[bool, Meta(description="List the partitions.")] = False
    goals: Annotated[Names, Meta(description="Goals by name, instead of the default ones.")] = field(
        default_factory=list
    )
    skip_hard_goal_check: Annotated[
        bool, Meta(description="Plan also if a hard goal cannot be judged, or stays violated.")
    ] = False
    excluded_topics: Annotated[str, Meta(description="Regular expression: topics that do not change.")] = ""
    kafka_assigner: Annotated[
        bool, Meta(description="Racks, even replicas and even disks, if `goals` names no others.")
    ] = False
    use_ready_default_goals: Annotated[
        bool, Meta(description="No effect: default goals that cannot be judged are left out in any case.")
    ] = False
    allow_capacity_estimation: Annotated[bool, Meta(description="No effect: nothing is estimated.")] = True
    exclude_recently_demoted_brokers: Annotated[
        bool, Meta(description="No effect: no list of demoted brokers is kept.")
    ] = False
    exclude_recently_removed_brokers: Annotated[
        bool, Meta(description="No effect: brokers that get no new partitions get no replicas either.")
    ] = False
    data_from: Annotated[str, Meta(description="No effect: there are no windows of samples.")] = ""
    fast_mode: Annotated[bool, Meta(description="No effect.")] = True

    @property
    def excluded(self) -> list[str]:
        """The expressions of `excluded_topics`, as an answer repeats them."""
        return [self.excluded_topics] if self.excluded_topics else []


class PlanParameters(GoalParameters, kw_only=True):
    """What all requests that plan and execute take."""

    dryrun: Annotated[bool, Meta(description="Only plan; `false` executes.")] = True
    stop_ongoing_execution: Annotated[
        bool, Meta(description="Cancel what this API executes, then execute.")
    ] = False
    concurrent_partition_movements_per_broker: Annotated[
        Count | None, Meta(description="Limit B of the job.")
    ] = None
    max_partition_movements_in_cluster: Annotated[Count | None, Meta(description="Limit C of the job.")] = (
        None
    )
    concurrent_leader_movements: Annotated[Count | None, Meta(description="Limit L of the job.")] = None
    broker_concurrent_leader_movements: Annotated[
        Count | None, Meta(description="No effect: limit L is the cluster's.")
    ] = None
    replication_throttle: Annotated[
        Annotated[int, Meta(ge=1, le=2**63 - 1)] | None,
        Meta(description="Throttle of the job, in bytes per second."),
    ] = None
    replica_movement_strategies: Annotated[
        Names, Meta(description="Checked; no effect: steps start in reassignd's own order.")
    ] = field(default_factory=list)
    execution_progress_check_interval_ms: Annotated[
        Annotated[int, Meta(ge=5000)] | None,
        Meta(description="No effect: progress is always followed."),
    ] = None
    review_id: ReviewId = None


EXECUTION_ONLY = frozenset({
    "json", "get_response_schema", "reason", "dryrun", "verbose", "stop_ongoing_execution", "review_id",
    "concurrent_partition_movements_per_broker", "max_partition_movements_in_cluster",
    "concurrent_leader_movements", "broker_concurrent_leader_movements", "replication_throttle",
    "replica_movement_strategies", "execution_progress_check_interval_ms", "ignore_proposal_cache",
    "concurrent_intra_broker_partition_movements",
})  # fmt: skip
"""Parameters that do not change the plan: an execution may have others than its dry run."""


def check_parameters(given: PlanParameters) -> None:
    """Raise CruiseControlError for a value that no plan could have."""
    known = {name.lower() for name in STRATEGIES}
    for name in given.replica_movement_strategies:
        if simple_name(name) not in known:
            raise bad_parameter(f"There is no strategy '{name[:80]}'; known: {', '.join(STRATEGIES)}.")
    topic_pattern(given.excluded_topics)
    refuse_review(given.review_id)


def job_options(given: PlanParameters) -> JobOptions:
    """Return the limits and the throttle of the job.

    It elects the new leaders, as Cruise Control's executor does: else goals of leaders would change nothing
    where Kafka does not rebalance leaders.
    """
    limits = {
        "B": given.concurrent_partition_movements_per_broker,
        "C": given.max_partition_movements_in_cluster,
        "L": given.concurrent_leader_movements,
    }
    options = JobOptions(
        limits=",".join(f"{name}={each}" for name, each in limits.items() if each), elect=True
    )
    if given.replication_throttle is not None:
        options.throttle = given.replication_throttle
    return options


def disk_options(given: PlanParameters, at_once: int | None) -> JobOptions:
    """Return the limit and the throttle of a job that moves replicas between log directories."""
    options = JobOptions(limits=f"B={at_once}" if at_once else "")
    if given.replication_throttle is not None:
        options.throttle = given.replication_throttle
    return options
