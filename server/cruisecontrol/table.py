"""The table of all endpoints of Cruise Control's API."""

from server.cruisecontrol.endpoints import (
    add_broker,
    demote_broker,
    fix_offline_replicas,
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
    *state.ENDPOINTS,
    *user_tasks.ENDPOINTS,
    *stop_proposal_execution.ENDPOINTS,
)
