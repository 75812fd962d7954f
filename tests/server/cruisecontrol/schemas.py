"""Shapes of Cruise Control's answers, written down from its clients' needs, and not from this code.

A shape checks a parsed value. Clients in Java and Go read an integer where the table says INT and a double
where it says DOUBLE, so `1` is no double here and `1.0` no integer.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

Shape = Callable[[Any, str], None]
"""Raises AssertionError that names the place of what is wrong."""


def _scalar(kind: type, name: str) -> Shape:
    def check(value: Any, place: str) -> None:
        assert type(value) is kind, f"{place}: {value!r} is no {name}"

    return check


INT, DOUBLE, TEXT, TRUTH = (
    _scalar(int, "integer"), _scalar(float, "double"), _scalar(str, "text"), _scalar(bool, "truth value")
)  # fmt: skip


def one_of(*values: object) -> Shape:
    def check(value: Any, place: str) -> None:
        assert value in values, f"{place}: {value!r} is none of {values}"

    return check


def both(first: Shape, second: Shape) -> Shape:
    def check(value: Any, place: str) -> None:
        first(value, place)
        second(value, place)

    return check


def many(shape: Shape) -> Shape:
    def check(value: Any, place: str) -> None:
        assert isinstance(value, list), f"{place}: {value!r} is no list"
        for number, each in enumerate(value):
            shape(each, f"{place}[{number}]")

    return check


def by_key(shape: Shape) -> Shape:
    def check(value: Any, place: str) -> None:
        assert isinstance(value, dict), f"{place}: {value!r} is no object"
        for key, each in value.items():
            shape(each, f"{place}.{key}")

    return check


def record(optional: Mapping[str, Shape] | None = None, /, **required: Shape) -> Shape:
    """A record with these fields and no others. Names that are no identifiers are given by `fields`."""
    return fields(required, optional or {})


def fields(required: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> Shape:
    known = {**required, **(optional or {})}

    def check(value: Any, place: str) -> None:
        assert isinstance(value, dict), f"{place}: {value!r} is no object"
        assert not required.keys() - value.keys(), f"{place} lacks {required.keys() - value.keys()}"
        assert not value.keys() - known.keys(), f"{place} has also {value.keys() - known.keys()}"
        for key, each in value.items():
            known[key](each, f"{place}.{key}")

    return check


VERSION = one_of(1)

ERROR = record(version=VERSION, stackTrace=TEXT, errorMessage=TEXT)
MESSAGE = record(version=VERSION, message=TEXT)
PROGRESS = record(
    version=VERSION,
    progress=many(record(operation=TEXT, operationProgress=many(fields({
        "step": TEXT, "description": TEXT, "completionPercentage": DOUBLE, "time-in-ms": INT,
    })))),
)  # fmt: skip

_HOST = dict.fromkeys(("Host", "Rack"), TEXT) | dict.fromkeys(("Replicas", "Leaders"), INT)
_HOST |= dict.fromkeys(
    (
        "DiskMB", "DiskPct", "DiskCapacityMB", "CpuPct", "LeaderNwInRate", "FollowerNwInRate", "NwOutRate",
        "PnwOutRate", "NetworkInCapacity", "NetworkOutCapacity", "NumCore",
    ),
    DOUBLE,
)  # fmt: skip
_STATE = one_of("ALIVE", "DEAD", "NEW", "DEMOTED", "BAD_DISKS")
_DISK = record(DiskMB=DOUBLE, DiskPct=DOUBLE, NumLeaderReplicas=INT, NumReplicas=INT)
_BROKER = fields({**_HOST, "Broker": INT, "BrokerState": _STATE}, {"DiskState": by_key(_DISK)})
_LOAD = {"hosts": many(fields(_HOST)), "brokers": many(_BROKER)}
LOAD = fields({**_LOAD, "version": VERSION})

PARTITION_LOAD = record(
    version=VERSION,
    records=many(record(
        topic=TEXT, partition=INT, leader=INT, followers=many(INT), cpu=DOUBLE, networkInbound=DOUBLE,
        networkOutbound=DOUBLE, disk=DOUBLE, msg_in=DOUBLE,
    )),
)  # fmt: skip

_COUNTS = by_key(INT)
_PARTITION = fields({
    "topic": TEXT, "partition": INT, "leader": INT, "replicas": many(INT), "in-sync": many(INT),
    "out-of-sync": many(INT), "offline": many(INT), "min-isr": INT, "remote-storage-enabled": TRUTH,
})  # fmt: skip
KAFKA_CLUSTER_STATE = record(
    version=VERSION,
    KafkaBrokerState=record(
        LeaderCountByBrokerId=_COUNTS, ReplicaCountByBrokerId=_COUNTS, OutOfSyncCountByBrokerId=_COUNTS,
        OfflineReplicaCountByBrokerId=_COUNTS, IsController=by_key(TRUTH),
        OnlineLogDirsByBrokerId=by_key(many(TEXT)), OfflineLogDirsByBrokerId=by_key(many(TEXT)),
        BrokerSetByBrokerId=by_key(TEXT),
        Summary=record(
            Brokers=INT, Topics=INT, Replicas=INT, Leaders=INT, AvgReplicationFactor=DOUBLE,
            AvgReplicasPerBroker=DOUBLE, AvgLeadersPerBroker=DOUBLE, MaxReplicasPerBroker=INT,
            MaxLeadersPerBroker=INT, StdReplicasPerBroker=DOUBLE, StdLeadersPerBroker=DOUBLE,
        ),
    ),
    KafkaPartitionState=fields(
        dict.fromkeys(("offline", "with-offline-replicas", "urp", "under-min-isr"), many(_PARTITION)),
        {"other": many(_PARTITION)},
    ),
)  # fmt: skip

_STATISTIC = record(
    cpu=DOUBLE, networkInbound=DOUBLE, networkOutbound=DOUBLE, disk=DOUBLE, potentialNwOut=DOUBLE,
    replicas=DOUBLE, leaderReplicas=DOUBLE, topicReplicas=DOUBLE,
)  # fmt: skip
_SUMMARY = record(
    numReplicaMovements=INT, dataToMoveMB=INT, numIntraBrokerReplicaMovements=INT,
    intraBrokerDataToMoveMB=INT, numLeaderMovements=INT, recentWindows=INT,
    monitoredPartitionsPercentage=DOUBLE, excludedTopics=many(TEXT),
    excludedBrokersForReplicaMove=many(INT), excludedBrokersForLeadership=many(INT),
    onDemandBalancednessScoreBefore=DOUBLE, onDemandBalancednessScoreAfter=DOUBLE,
    provisionStatus=one_of("UNDER_PROVISIONED", "RIGHT_SIZED", "OVER_PROVISIONED", "UNDECIDED"),
    provisionRecommendation=TEXT,
)  # fmt: skip
_PROPOSAL = record(
    topicPartition=record(topic=TEXT, partition=INT), oldLeader=INT, oldReplicas=many(INT),
    newReplicas=many(INT),
)  # fmt: skip
_EXECUTION_TASK = record(
    executionId=INT, type=TEXT, state=one_of("PENDING", "IN_PROGRESS"), proposal=_PROPOSAL, brokerId=INT
)


def _same_brokers(value: Any, place: str) -> None:
    """Strimzi compares the loads before and after, and stops if their brokers differ."""
    before, after = (
        [row["Broker"] for row in value[f"load{when}Optimization"]["brokers"]] for when in ("Before", "After")
    )
    assert before == after, f"{place}: brokers {before} before, {after} after"


OPTIMIZATION = both(record(
    {"proposals": many(_PROPOSAL)},
    version=VERSION,
    summary=_SUMMARY,
    goalSummary=many(record(
        goal=TEXT, status=one_of("VIOLATED", "FIXED", "NO-ACTION"), optimizationTimeMs=INT,
        clusterModelStats=record(
            metadata=record(brokers=INT, replicas=INT, topics=INT),
            statistics=record(AVG=_STATISTIC, MAX=_STATISTIC, MIN=_STATISTIC, STD=_STATISTIC),
        ),
    )),
    loadBeforeOptimization=fields(_LOAD),
    loadAfterOptimization=fields(_LOAD),
), _same_brokers)  # fmt: skip

_TASK = {
    "Status": one_of("Active", "InExecution", "Completed", "CompletedWithError"),
    "ClientIdentity": TEXT, "RequestURL": TEXT, "UserTaskId": TEXT, "StartMs": TEXT,
}  # fmt: skip
USER_TASKS = record(version=VERSION, userTasks=many(fields(_TASK)))
USER_TASKS_WITH_ANSWERS = record(version=VERSION, userTasks=many(fields(_TASK, {"originalResponse": TEXT})))

_ANOMALIES = (
    "BROKER_FAILURE", "DISK_FAILURE", "GOAL_VIOLATION", "METRIC_ANOMALY", "TOPIC_ANOMALY", "MAINTENANCE_EVENT"
)  # fmt: skip
_FAILURE = record(
    anomalyId=TEXT, detectionMs=INT, statusUpdateMs=INT, status=TEXT, description=TEXT,
    failedBrokersByTimeMs=by_key(INT),
)  # fmt: skip
_VIOLATION = record(
    anomalyId=TEXT, detectionMs=INT, statusUpdateMs=INT, detectionDate=TEXT, statusUpdateDate=TEXT,
    status=TEXT, fixableViolatedGoals=many(TEXT), unfixableViolatedGoals=many(TEXT),
)  # fmt: skip
_NONE = one_of([])
_EXECUTOR_LISTS = ("inProgressPartitionMovement", "pendingPartitionMovement")
_EXECUTOR_COUNTS = (
    "numTotalPartitionMovements", "numFinishedPartitionMovements", "numInProgressPartitionMovements",
    "numPendingPartitionMovements", "numTotalLeadershipMovements", "numFinishedLeadershipMovements",
    "numPendingLeadershipMovements",
    "numTotalIntraBrokerPartitionMovements", "numFinishedIntraBrokerPartitionMovements",
    "numInProgressIntraBrokerPartitionMovements", "numPendingIntraBrokerPartitionMovements",
    "totalIntraBrokerDataToMove", "finishedIntraBrokerDataMovement",
    "totalDataToMove", "finishedDataMovement", "maximumConcurrentPartitionMovementsPerBroker",
)  # fmt: skip
STATE = record(
    {
        "MonitorState": record(
            state=one_of("RUNNING", "LOADING"), trained=TRUTH, trainingPct=DOUBLE, numMonitoredWindows=INT,
            numValidPartitions=INT, numTotalPartitions=INT, numFlawedPartitions=INT,
            monitoringCoveragePct=DOUBLE, loadingProgressPct=DOUBLE, reasonOfLatestPauseOrResume=TEXT,
        ),
        "AnalyzerState": record(
            isProposalReady=TRUTH,
            readyGoals=many(TEXT),
            goalReadiness=many(record(
                name=TEXT, status=one_of("ready", "notReady"),
                modelCompleteRequirement=record(
                    requiredNumSnapshots=INT, minMonitoredPartitionsPercentage=DOUBLE, includeAllTopics=TRUTH
                ),
            )),
        ),
        "ExecutorState": record(
            dict.fromkeys(("triggeredUserTaskId", "triggeredTaskReason", "error"), TEXT)
            | dict.fromkeys(_EXECUTOR_LISTS, many(_EXECUTION_TASK))
            | dict.fromkeys(_EXECUTOR_COUNTS, INT),
            state=one_of(
                "NO_TASK_IN_PROGRESS", "STARTING_EXECUTION", "STOPPING_EXECUTION",
                "INTER_BROKER_REPLICA_MOVEMENT_TASK_IN_PROGRESS",
                "INTRA_BROKER_REPLICA_MOVEMENT_TASK_IN_PROGRESS", "LEADER_MOVEMENT_TASK_IN_PROGRESS",
            ),
            recentlyRemovedBrokers=many(INT),
            recentlyDemotedBrokers=many(INT),
        ),
        "AnomalyDetectorState": record(
            selfHealingEnabled=many(TEXT), selfHealingDisabled=many(TEXT),
            recentGoalViolations=many(_VIOLATION), recentBrokerFailures=many(_FAILURE),
            recentDiskFailures=_NONE, recentMetricAnomalies=_NONE, recentTopicAnomalies=_NONE,
            recentMaintenanceEvents=_NONE, balancednessScore=DOUBLE,
            ongoingSelfHealingAnomaly=TEXT,
            selfHealingEnabledRatio=record(**dict.fromkeys(_ANOMALIES, DOUBLE)),
            metrics=record(
                meanTimeBetweenAnomaliesMs=record(**dict.fromkeys(_ANOMALIES, DOUBLE)),
                meanTimeToStartFixMs=DOUBLE, numSelfHealingStarted=INT, numSelfHealingFailedToStart=INT,
                ongoingAnomalyDurationMs=INT,
            ),
        ),
    },
    version=VERSION,
)  # fmt: skip

PERMISSIONS = record(version=VERSION, roles=many(one_of("VIEWER", "USER", "ADMIN")))
REVIEW_BOARD = record(version=VERSION, RequestInfo=_NONE)
ADMIN = record(
    {
        "selfHealingEnabledBefore": by_key(TRUTH), "selfHealingEnabledAfter": by_key(TRUTH),
        "concurrencyAdjusterEnabledBefore": by_key(TRUTH), "concurrencyAdjusterEnabledAfter": by_key(TRUTH),
        "ongoingConcurrencyChangeRequest": TEXT, "dropRecentBrokersRequest": TEXT,
        "minIsrBasedConcurrencyAdjustmentRequest": TEXT,
    },
    version=VERSION,
)  # fmt: skip

SHAPES: Mapping[str, Shape] = {
    "GET state": STATE,
    "GET load": LOAD,
    "GET partition_load": PARTITION_LOAD,
    "GET kafka_cluster_state": KAFKA_CLUSTER_STATE,
    "GET proposals": OPTIMIZATION,
    "GET user_tasks": USER_TASKS,
    "GET permissions": PERMISSIONS,
    "GET review_board": REVIEW_BOARD,
    "GET bootstrap": MESSAGE,
    "GET train": MESSAGE,
    "POST rebalance": OPTIMIZATION,
    "POST add_broker": OPTIMIZATION,
    "POST remove_broker": OPTIMIZATION,
    "POST remove_disks": OPTIMIZATION,
    "POST demote_broker": OPTIMIZATION,
    "POST topic_configuration": OPTIMIZATION,
    "POST fix_offline_replicas": OPTIMIZATION,
    "POST stop_proposal_execution": MESSAGE,
    "POST admin": ADMIN,
    "POST pause_sampling": MESSAGE,
    "POST resume_sampling": MESSAGE,
}
"""By method and endpoint: the shape of an answer with status 200. Endpoints that refuse all are absent."""


def check(request: str, status: int, text: str) -> Any:
    """Return the parsed answer to this request, such as `GET state`, after a check of its shape."""
    shape = ERROR if status >= 400 else PROGRESS if status == 202 else SHAPES[request]
    value = json.loads(text)
    shape(value, request)
    return value
