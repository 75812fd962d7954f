"""`GET /state`: the load model, the goals, what is executed, and what is wrong with the cluster."""

from collections.abc import Collection
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, field

from controller.cluster.health import missing_brokers, offline_brokers
from controller.model.load import LoadSummary
from server.cruisecontrol.shared.access import ClientRole
from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.errors import bad_parameter
from server.cruisecontrol.shared.executor import ExecutorState, executor_state
from server.cruisecontrol.shared.goals import MEASURED, default_goals, has_rates
from server.cruisecontrol.shared.loads import NOT_KNOWN
from server.cruisecontrol.shared.parameters import Names, Parameters
from server.cruisecontrol.shared.violations import GoalViolation, goal_violations

ANOMALIES = (
    "BROKER_FAILURE",
    "DISK_FAILURE",
    "GOAL_VIOLATION",
    "METRIC_ANOMALY",
    "TOPIC_ANOMALY",
    "MAINTENANCE_EVENT",
)
"""What Cruise Control could heal by itself."""

SUBSTATES = ("monitor", "analyzer", "executor", "anomaly_detector")


class StateParameters(Parameters, kw_only=True):
    """Which parts of the state are shown."""

    substates: Annotated[
        Names, Meta(description="`monitor`, `analyzer`, `executor`, `anomaly_detector`.")
    ] = field(default_factory=list)
    verbose: Annotated[bool, Meta(description="With up to 100 partitions that move, and that wait.")] = False
    super_verbose: Annotated[bool, Meta(description="No effect.")] = False


class MonitorState(Struct, rename="camel"):
    """What is known of the partitions. The sizes make the model; rates are an addition to it."""

    state: str
    trained: bool
    training_pct: float
    num_monitored_windows: int
    num_valid_partitions: int
    num_total_partitions: int
    num_flawed_partitions: int
    monitoring_coverage_pct: float
    loading_progress_pct: float
    reason_of_latest_pause_or_resume: str = "N/A"


class ModelCompleteness(Struct, frozen=True, rename="camel"):
    """What must be known before a goal can be judged."""

    required_num_snapshots: int = 1
    min_monitored_partitions_percentage: float = MEASURED
    include_all_topics: bool = True


class GoalReadiness(Struct, rename="camel"):
    """Whether a goal can be judged."""

    name: str
    status: str
    model_complete_requirement: ModelCompleteness = ModelCompleteness()


class AnalyzerState(Struct, rename="camel"):
    """Which goals can be judged."""

    is_proposal_ready: bool
    ready_goals: list[str]
    goal_readiness: list[GoalReadiness]


class BrokerFailure(Struct, rename="camel"):
    """Brokers that are gone. Times are when this API has seen it first."""

    anomaly_id: str
    failed_brokers_by_time_ms: dict[int, int]
    detection_ms: int
    status_update_ms: int
    description: str
    status: str = "IGNORED"


class AnomalyMetrics(Struct, rename="camel"):
    """How fast anomalies are healed. None are."""

    mean_time_between_anomalies_ms: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(ANOMALIES, 0.0)
    )
    mean_time_to_start_fix_ms: float = 0.0
    num_self_healing_started: int = 0
    num_self_healing_failed_to_start: int = 0
    ongoing_anomaly_duration_ms: int = 0


class AnomalyDetectorState(Struct, rename="camel"):
    """What is wrong. reassignd does not heal by itself: an operator or Strimzi asks for a plan."""

    self_healing_enabled: list[str] = []
    self_healing_disabled: list[str] = field(default_factory=lambda: list(ANOMALIES))
    recent_goal_violations: list[GoalViolation] = []
    recent_broker_failures: list[BrokerFailure] = []
    recent_disk_failures: list[dict[str, str]] = []
    recent_metric_anomalies: list[dict[str, str]] = []
    recent_topic_anomalies: list[dict[str, str]] = []
    recent_maintenance_events: list[dict[str, str]] = []
    self_healing_enabled_ratio: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(ANOMALIES, 0.0)
    )
    metrics: AnomalyMetrics = field(default_factory=AnomalyMetrics)
    ongoing_self_healing_anomaly: str = "None"
    balancedness_score: float = NOT_KNOWN
    """A score is shown with each plan."""


class CruiseControlState(Struct):
    """The parts that were asked for."""

    monitor: MonitorState | UnsetType = field(name="MonitorState", default=UNSET)
    executor: ExecutorState | UnsetType = field(name="ExecutorState", default=UNSET)
    analyzer: AnalyzerState | UnsetType = field(name="AnalyzerState", default=UNSET)
    anomalies: AnomalyDetectorState | UnsetType = field(name="AnomalyDetectorState", default=UNSET)
    version: int = 1


async def state(call: CruiseControlCall, given: StateParameters) -> CruiseControlState:
    """Return the state."""
    asked = [each.lower() for each in given.substates] or list(SUBSTATES)
    if unknown := [each for each in asked if each not in SUBSTATES]:
        raise bad_parameter(f"There is no substate '{unknown[0][:80]}'; known: {', '.join(SUBSTATES)}.")
    load = call.load
    answer = CruiseControlState()
    if "monitor" in asked:
        answer.monitor = _monitor(call, load)
    if "executor" in asked:
        answer.executor = await executor_state(call, verbose=given.verbose)
    if "analyzer" in asked:
        answer.analyzer = _analyzer(call, load)
    if "anomaly_detector" in asked:
        answer.anomalies = await _anomalies(call)
    return answer


def _monitor(call: CruiseControlCall, load: LoadSummary) -> MonitorState:
    total = sum(map(len, call.state.cluster.partitions.values()))
    known = round(total * load.coverage) if load.sampling else total
    ready = call.state.sizes_known
    return MonitorState(
        "RUNNING" if ready else "LOADING",
        ready,
        100.0 if ready else 0.0,
        1 if ready else 0,
        known if ready else 0,
        total,
        total - known,
        round(100.0 * known / total, 3) if total and ready else 0.0,
        100.0 if ready else 0.0,
    )


def _analyzer(call: CruiseControlCall, load: LoadSummary) -> AnalyzerState:
    """Return the goals of a request that names none: koperator waits until all of these are ready."""
    ready, able = call.state.sizes_known, default_goals(rates=has_rates(load))
    usable = {goal.name: ready and goal in able for goal in default_goals(rates=load.sampling)}
    return AnalyzerState(
        ready,
        [name for name, able in usable.items() if able],
        [GoalReadiness(name, "ready" if able else "notReady") for name, able in usable.items()],
    )


async def _anomalies(call: CruiseControlCall) -> AnomalyDetectorState:
    seen = _first_seen(call, {*offline_brokers(call.state), *missing_brokers(call.state)})
    return AnomalyDetectorState(
        recent_goal_violations=await goal_violations(call),
        recent_broker_failures=[_failure(seen)] if seen else [],
    )


def _failure(seen: dict[int, int]) -> BrokerFailure:
    first, last = min(seen.values()), max(seen.values())
    text = f"brokers {', '.join(map(str, seen))} do not run"
    return BrokerFailure(f"broker-failure-{first}", seen, first, last, text)


def _first_seen(call: CruiseControlCall, gone: Collection[int]) -> dict[int, int]:
    """Return when each of these brokers was missing first, in milliseconds since 1970."""
    context = call.context
    now = context.wall_clock()
    context.gone = {broker: context.gone.get(broker, now) for broker in sorted(gone)}
    return context.gone


ENDPOINTS = (
    Endpoint(
        "GET",
        "state",
        "Show what is known, executed and wrong.",
        StateParameters,
        state,
        role=ClientRole.USER,
    ),
)
