"""A plan as the stock tool's JSON (Kafka: ReassignPartitionsCommand), its entries checked one by one."""

from typing import Any, NamedTuple

from common.json_text import shown
from common.plan_errors import PlanError
from controller.scheduling.steps import Replicas

INT_MAX = 2**31 - 1
BROKER_IDS = f"a broker id from 0 to {INT_MAX}"
ANY = "any"


class Entry(NamedTuple):
    """One partition of a plan, and where it belongs."""

    topic: str
    partition: int
    replicas: Replicas


def read_plan(value: object) -> list[Entry]:
    """The entries of a parsed plan, in order. Raises PlanError naming the first one that is wrong."""
    if not isinstance(value, dict) or not isinstance(value.get("partitions"), list):
        raise PlanError('not a plan: expected {"version":1,"partitions":[...]}')
    if value.get("version", 1) != 1:
        raise PlanError(f"'version' is {shown(value['version'])}, expected 1")
    if not value["partitions"]:
        raise PlanError("the plan has no partitions")
    seen: dict[tuple[str, int], int] = {}
    entries = []
    for number, row in enumerate(value["partitions"]):
        topic, partition, name = read_key(row, f"partitions[{number}]")
        if seen.setdefault((topic, partition), number) != number:
            raise PlanError(f"{name} is there twice, first in partitions[{seen[topic, partition]}]")
        entries.append(Entry(topic, partition, _replicas(row, name)))
    return entries


def read_key(row: Any, where: str) -> tuple[str, int, str]:
    """Topic and partition of an entry, and the entry's name in error lines. Raises PlanError."""
    if not isinstance(row, dict):
        raise PlanError(f"{where} is {shown(row)}, expected an object")
    topic, partition = row.get("topic"), row.get("partition")
    if not isinstance(topic, str) or not topic:
        raise PlanError(f"{where}: 'topic' is {shown(topic)}, expected a topic's name")
    if type(partition) is not int or not 0 <= partition <= INT_MAX:
        raise PlanError(
            f"{where} ({topic}): 'partition' is {shown(partition)}, expected a number from 0 to {INT_MAX}"
        )
    return topic, partition, f"{where} ({topic}-{partition})"


def _replicas(row: dict[str, Any], name: str) -> Replicas:
    replicas = row.get("replicas")
    if not isinstance(replicas, list) or not replicas:
        raise PlanError(f"{name}: 'replicas' is {shown(replicas)}, expected a list of broker ids")
    seen: set[int] = set()
    for place, broker in enumerate(replicas):
        if type(broker) is not int or not 0 <= broker <= INT_MAX:
            raise PlanError(f"{name}: replicas[{place}] is {shown(broker)}, expected {BROKER_IDS}")
        if broker in seen:
            raise PlanError(f"{name}: broker {broker} is in 'replicas' more than once")
        seen.add(broker)
    log_dirs = row.get("log_dirs")
    if log_dirs is not None and log_dirs != [ANY] * len(replicas):
        raise PlanError(
            f"{name}: 'log_dirs' is {shown(log_dirs)}, expected \"any\" for each replica;"
            " kafka-reassign-partitions moves replicas between directories"
        )
    return tuple(replicas)
