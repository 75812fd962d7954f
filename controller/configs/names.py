"""Names of the configs that decisions depend on.

`controller.configs.keys` defines their types and defaults.
"""

# Kafka's own keys (TopicConfig, QuotaConfig)
MIN_ISR = "min.insync.replicas"
UNCLEAN_ELECTION = "unclean.leader.election.enable"
NUM_PARTITIONS = "num.partitions"
REPLICATION_FACTOR = "default.replication.factor"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LOG_DIRS_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
RATES = (LEADER_RATE, FOLLOWER_RATE)
THROTTLED_REPLICAS = (LEADER_REPLICAS, FOLLOWER_REPLICAS)

# Cluster-wide keys of reassignd, which share a prefix. The limits are in `controller.scheduling.limits`.
OWN_PREFIX = "reassignment."
THROTTLE = "reassignment.throttle.bytes.per.second"
HEALTH_GUARD = "reassignment.health.guard"
MAX_DISK_USAGE = "reassignment.max.disk.usage"
STEP_TIMEOUT = "reassignment.step.timeout.ms"
CANCEL_MODE = "reassignment.cancel.mode"
EXCLUDED_BROKERS = "reassignment.excluded.brokers"
SCHEDULE = "reassignment.schedule"
PACE = "reassignment.pace"
PACE_MS = "reassignment.pace.produce.latency.ms"
PACE_FACTOR = "reassignment.pace.produce.latency.factor"
PACE_UNREACHABLE = "reassignment.pace.unreachable"
PACE_TOPIC = "reassignment.pace.topic"
PACE_CONFIGS = (PACE, PACE_MS, PACE_FACTOR, PACE_UNREACHABLE, PACE_TOPIC)

# Topic configs of the embedded cluster. They override the server's settings of the same names.
PARTITION_BYTES = "embedded.partition.bytes"
PRODUCE_RATE = "embedded.produce.bytes.per.second"
