"""Which goals the state can report as violated. No import, because the settings name them too."""

JUDGED = (
    "ReplicaCapacityGoal",
    "DiskCapacityGoal",
    "ReplicaDistributionGoal",
    "DiskUsageDistributionGoal",
    "NetworkInboundUsageDistributionGoal",
    "NetworkOutboundUsageDistributionGoal",
    "LeaderReplicaDistributionGoal",
)
"""Goals that can be judged by the numbers of brokers. Racks need a look at every partition."""

DETECTED = ("ReplicaCapacityGoal", "DiskCapacityGoal")
"""Those whose violations are reported, if nothing else is set."""
