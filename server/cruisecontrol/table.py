"""The table of all endpoints of Cruise Control's API."""

from server.cruisecontrol.endpoints import (
    add_broker,
    demote_broker,
    fix_offline_replicas,
    kafka_cluster_state,
    load,
    partition_load,
    permissions,
    proposals,
    rebalance,
    remove_broker,
    remove_disks,
    state,
    stop_proposal_execution,
    topic_configuration,
    user_tasks,
)
from server.cruisecontrol.shared.call import Endpoint

ENDPOINTS: tuple[Endpoint, ...] = (
    *rebalance.ENDPOINTS,
    *add_broker.ENDPOINTS,
    *remove_broker.ENDPOINTS,
    *demote_broker.ENDPOINTS,
    *topic_configuration.ENDPOINTS,
    *fix_offline_replicas.ENDPOINTS,
    *remove_disks.ENDPOINTS,
    *proposals.ENDPOINTS,
    *state.ENDPOINTS,
    *load.ENDPOINTS,
    *partition_load.ENDPOINTS,
    *kafka_cluster_state.ENDPOINTS,
    *user_tasks.ENDPOINTS,
    *stop_proposal_execution.ENDPOINTS,
    *permissions.ENDPOINTS,
)
