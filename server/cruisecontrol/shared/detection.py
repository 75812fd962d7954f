"""Which goals the state can tell as violated. No import, because the settings name them too."""

JUDGED = (
    "ReplicaCapacityGoal",
    "DiskCapacityGoal",
    "ReplicaDistributionGoal",
    "DiskUsageDistributionGoal",
    "NetworkInboundUsageDistributionGoal",
    "NetworkOutboundUsageDistributionGoal",
    "LeaderReplicaDistributionGoal",
)
"""Goals that the numbers of brokers tell. Racks need a look at every partition."""

DETECTED = ("ReplicaCapacityGoal", "DiskCapacityGoal")
"""Those whose violations are told, if nothing else is set."""
