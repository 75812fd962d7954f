"""The tables of docs/cruise-control.md: endpoints, parameters and goals. `tools.reference` writes them.

What a parameter does is the description of its field; GOALS_IN_WORDS says what a goal means here.
"""

from collections.abc import Iterator, Mapping

from msgspec import inspect

from common.json.models import fields_of
from server.cruisecontrol.shared.call import Endpoint
from server.cruisecontrol.shared.goals import DEFAULT, GOALS, CruiseControlGoal
from server.cruisecontrol.shared.plan_parameters import PlanParameters
from server.cruisecontrol.table import ENDPOINTS
from tools.written_parts import Parts, table

GOALS_IN_WORDS: Mapping[str, str] = {
    "RackAwareGoal": "No rack has two replicas of a partition. Refused if there are too few racks.",
    "RackAwareDistributionGoal": "Replicas of a partition are spread over racks as evenly as possible.",
    "BrokerSetAwareGoal": "Not judged: reassignd has no sets of brokers.",
    "MinTopicLeadersPerBrokerGoal": "Always met: by Cruise Control's default it names no topic.",
    "ReplicaCapacityGoal": "No broker has more than 10,000 replicas.",
    "DiskCapacityGoal": "A fifth of the disks of each broker stays free; receivers keep that room.",
    "NetworkInboundCapacityGoal": "At most 80 % of NW_IN is used. Needs rates and a file of capacities.",
    "NetworkOutboundCapacityGoal": "At most 80 % of NW_OUT is used. Needs rates and a file of capacities.",
    "CpuCapacityGoal": "Not judged: there is no capacity to compare with.",
    "ReplicaDistributionGoal": "The numbers of replicas are within 10 % of their mean.",
    "PotentialNwOutGoal": "A broker that led all its replicas would use at most 80 % of NW_OUT.",
    "DiskUsageDistributionGoal": "The used parts of disks are within 10 % of their mean.",
    "NetworkInboundUsageDistributionGoal": "Bytes in are within 10 % of their mean. Needs rates.",
    "NetworkOutboundUsageDistributionGoal": "Bytes out are within 10 % of their mean. Needs rates.",
    "LeaderBytesInDistributionGoal": "What producers write is within 10 % of its mean. Needs rates.",
    "CpuUsageDistributionGoal": "CPU by Cruise Control's weights is within 10 % of its mean. Needs rates.",
    "TopicReplicaDistributionGoal": "The replicas of each topic are spread evenly.",
    "LeaderReplicaDistributionGoal": "The numbers of leaders are within 10 % of their mean.",
    "PreferredLeaderElectionGoal": "Alone: preferred leaders are elected, and no list changes.",
    "IntraBrokerDiskCapacityGoal": "At most 80 % of each log directory is used. Not judged after a plan that"
    " changes replicas of a broker with several: it chooses the directory of a new one itself.",
    "IntraBrokerDiskUsageDistributionGoal": "The used parts of a broker's log directories are within 10 % of"
    " their mean. Not judged as above.",
    "KafkaAssignerEvenRackAwareGoal": "As RackAwareDistributionGoal, with even numbers of replicas.",
    "KafkaAssignerDiskUsageDistributionGoal": "As DiskUsageDistributionGoal.",
}


def _endpoints() -> str:
    rows = ((f"`{each.method} {each.name}`", each.summary, each.role.name) for each in ENDPOINTS)
    return table(("endpoint", "what it does", "least role"), rows)


def _parameters() -> str:
    """Return a row for each parameter and meaning, with the endpoints that have it."""
    users: dict[tuple[str, str], list[str]] = {}
    for endpoint in ENDPOINTS:
        for row in _meanings(endpoint):
            users.setdefault(row, []).append(endpoint.name)
    ordered = sorted(users.items(), key=lambda row: (row[0][0], row[1]))
    rows = ((f"`{name}`", meaning, _shown(names)) for (name, meaning), names in ordered)
    return table(("parameter", "what reassignd does with it", "endpoints"), rows)


def _shown(names: list[str]) -> str:
    """Return the names of the endpoints; those that plan have one word, as they share most parameters."""
    if len(names) == len(ENDPOINTS):
        return "all"
    planning = [each.name for each in ENDPOINTS if issubclass(each.parameters, PlanParameters)]
    if not {*planning} <= {*names}:
        return ", ".join(map(_quoted, names))
    return ", ".join(["all that plan", *(_quoted(name) for name in names if name not in planning)])


def _meanings(endpoint: Endpoint) -> Iterator[tuple[str, str]]:
    for name, kind in fields_of(inspect.type_info(endpoint.parameters)).items():
        yield name, _description(kind)


def _description(kind: inspect.Type) -> str:
    """Return the outermost description of a type."""
    while isinstance(kind, inspect.Metadata):
        schema = kind.extra_json_schema or {}
        if "description" in schema:
            return str(schema["description"])
        kind = kind.type
    raise ValueError(f"a parameter of the type {kind} has no description")


def _goals() -> str:
    rows = (
        (each.name, GOALS_IN_WORDS[each.name], _kind(each), ", ".join(map(_quoted, each.loads)))
        for each in GOALS
    )
    return table(("goal", "met when", "kind", "`propose --by`"), rows)


def _kind(goal: CruiseControlGoal) -> str:
    kind = "hard" if goal.hard else "soft"
    return f"{kind}, default" if goal.name in DEFAULT else kind


def _quoted(name: str) -> str:
    return f"`{name}`"


TABLES: Parts = {"endpoints": _endpoints, "parameters": _parameters, "goals": _goals}
