"""Runs a case: builds a controller from `given`, with one method for each action."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from common.error_codes import ErrorCode
from controller.messages.events import (
    AlterReassignments,
    CreatePartitions,
    DeleteTopics,
    ElectionType,
    ElectLeaders,
    NewPartitions,
)
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic
from controller.model.access import Operation
from controller.model.cluster import NO_LEADER, Partition
from controller.model.election import after_loss, first_eligible
from controller.model.errors import Outcome
from controller.views.reassignments import counts
from protocol.apis import ApiKey
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from server import handlers
from server.dispatch.context import (
    ANONYMOUS,
    CLUSTER,
)
from server.dispatch.registry import ROUTES, AnyRoute
from server.handlers import alter_partition_reassignments, list_partition_reassignments
from tests.builders import InMemoryController, key, partition
from tests.server.fakes import AclTable, decoded

GIVEN = {
    "brokers",
    "live",
    "fenced",
    "shutting_down",
    "not_acceptable_leaders",
    "acceptable_leaders",
    "partitions",
    "topics_queued_for_deletion",
    "topic_config",
    "acls",
    "replica_states",
}

Json = Any

_DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


class NotInControllerError(Exception):
    """The case concerns a component that the controller does not have. This is not a failure."""


class Reply(NamedTuple):
    """The answer to one action."""

    top: Outcome
    rows: Mapping[str, Outcome] = {}
    size: int = 0
    echoed: Sequence[str] = ()
    listed: Mapping[str, Json] | None = None


class Played:
    """The state after all actions of a case: the replies, and the partitions after each action."""

    def __init__(self, given: Mapping[str, Json], actions: Sequence[Mapping[str, Json]]) -> None:
        for part in (*map(_verb, actions), *sorted(given.keys() - GIVEN)):
            if part not in GIVEN | _VERBS.keys():
                raise NotInControllerError(part)
        self.given = given
        self.controller = _controller(given)
        self.began = self._partitions()
        self.replies: list[Reply] = []
        self.after: list[dict[str, Partition]] = []
        self.found: dict[str, Json] = {}
        for action in actions:
            self.replies.append(_VERBS[_verb(action)](self, action))
            self.after.append(self._partitions())

    @property
    def only(self) -> str:
        """Return the name of the only partition of the case."""
        (name,) = self.began
        return name

    def _partitions(self) -> dict[str, Partition]:
        return {str(now.key): now for now in self.controller.state.cluster.all_partitions()}

    def _allows(self, api: ApiKey) -> bool:
        """Return whether the access rules of the case, if any, allow the request."""
        handlers.load()
        route = ROUTES[api]
        self.found["needs"] = f"{_operation(route).name} on {CLUSTER.kind.name} {CLUSTER.name}"
        rules = [(ANONYMOUS, Operation[rule.split()[0]], CLUSTER) for rule in self.given.get("acls", ())]
        allowed = AclTable(rules).allows(ANONYMOUS, _operation(route), CLUSTER)
        return allowed or "acls" not in self.given

    def alter(self, action: Mapping[str, Json]) -> Reply:
        orders = list(_orders(action))
        if not self._allows(ApiKey.ALTER_PARTITION_REASSIGNMENTS):
            return _refused_alter(orders)
        reply: AlterReply = self.controller.do(AlterReassignments(orders)).reply
        rows = {f"{topic}-{n}": outcome for topic, all_ in reply.topics for n, outcome in all_}
        size = sum(len(all_) for _, all_ in reply.topics)
        return Reply(reply.outcome, rows, size, [topic for topic, _ in reply.topics])

    def list_(self, action: Mapping[str, Json]) -> Reply:
        if not self._allows(ApiKey.LIST_PARTITION_REASSIGNMENTS):
            return _refused_list(action["topics"])
        response = list_partition_reassignments._response(self.controller.state, action["topics"])
        return _listing(decoded(response, 0))

    def isr_change(self, action: Mapping[str, Json]) -> Reply:
        outcome = self.controller.isr(action.get("partition") or self.only, action["isr"])
        self.found["alter_partition_answer"] = f"{outcome.error.name} ({outcome.error})"
        return Reply(outcome)

    def merge(self, action: Mapping[str, Json]) -> Reply:
        return self.alter({"entries": [[*key(self.only), action["merge"]["target"]]]})

    def revert(self, action: Mapping[str, Json]) -> Reply:
        """Cancel. If the cancel would be unclean, allow unclean elections and cancel again."""
        outcome = self.controller.alter({action["revert"]: None})[action["revert"]]
        self.found["unclean"] = outcome.error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
        if self.found["unclean"]:
            self.controller.with_topic_config(
                "unclean.leader.election.enable", "true", key(action["revert"]).topic
            )
            outcome = self.controller.alter({action["revert"]: None})[action["revert"]]
        return Reply(outcome)

    def elect(self, action: Mapping[str, Json]) -> Reply:
        """Elect a leader among the given replicas. Shows the leader and the ISR."""
        replicas, isr = tuple(action["list"]), tuple(action["isr"])
        live = action.get("live", action.get("live_or_shutting"))
        asked = Partition("t", 0, replicas, isr, NO_LEADER)
        controller = InMemoryController(replicas, live=live)
        if action["elect"] == "reassign":
            asked = asked._replace(leader=first_eligible(replicas, isr, live))
        elif action["elect"] == "offline":
            asked = after_loss(asked, live, unclean=action["unclean"])
        elif action["elect"] == "preferred":
            controller.with_partitions(asked).do(ElectLeaders(ElectionType.PREFERRED, None))
            asked = controller["t-0"]
        else:
            controller.with_partitions(asked._replace(leader=replicas[0]))
            for broker in action["shutting"]:
                controller.shut_down(broker)
            asked = controller["t-0"]
        self.found["leader"] = None if asked.leader == NO_LEADER else asked.leader
        self.found["isr"] = list(asked.isr)
        return Reply(Outcome())

    def elect_preferred(self, _: Mapping[str, Json]) -> Reply:
        self.controller.do(ElectLeaders(ElectionType.PREFERRED, None))
        return Reply(Outcome())

    def create_partitions(self, action: Mapping[str, Json]) -> Reply:
        wanted = [NewPartitions(topic, total) for topic, total in action["create"].items()]
        return Reply(Outcome(), rows=dict(self.controller.do(CreatePartitions(wanted)).reply))

    def delete_topic(self, action: Mapping[str, Json]) -> Reply:
        return Reply(Outcome(), rows=dict(self.controller.do(DeleteTopics([action["topic"]])).reply))

    def broker_down(self, action: Mapping[str, Json]) -> Reply:
        self.controller.stop(action["broker"])
        return Reply(Outcome())

    def broker_up(self, action: Mapping[str, Json]) -> Reply:
        self.controller.start(action["broker"])
        return Reply(Outcome())

    def read(self, action: Mapping[str, Json]) -> Reply:
        now = self.controller[self.only]
        self.found |= {
            "UnderReplicated": int(now.under_replicated),
            "ReplicasCount": len(now.current),
            "ReassigningPartitions": counts(self.controller.state).reassigning,
        }
        if action["read"] not in self.found:
            raise NotInControllerError(action["read"])
        return Reply(Outcome())


_VERBS: dict[str, Callable[[Played, Mapping[str, Json]], Reply]] = {
    "45": Played.alter,
    "46": Played.list_,
    "43": Played.elect_preferred,
    "37": Played.create_partitions,
    "isr_change": Played.isr_change,
    "alter_partition": Played.isr_change,
    "broker_down": Played.broker_down,
    "broker_up": Played.broker_up,
    "delete_topic": Played.delete_topic,
    "merge": Played.merge,
    "revert": Played.revert,
    "elect": Played.elect,
    "read": Played.read,
}


def _verb(action: Mapping[str, Json]) -> str:
    return str(action["api"]) if "api" in action else action.get("event", next(iter(action)))


def _controller(given: Mapping[str, Json]) -> InMemoryController:
    live = set(given["live"]) - {*given.get("fenced", ()), *given.get("not_acceptable_leaders", ())}
    live &= set(given.get("acceptable_leaders", live))
    controller = InMemoryController(given["brokers"], live=live)
    controller.state.cluster.shutting_down.update(given.get("shutting_down", ()))
    for name, fields in given["partitions"].items():
        controller.with_partitions(*_partitions(name, fields))
    for topic in given.get("topics_queued_for_deletion", ()):
        controller.put(controller.state.cluster.topics[topic]._replace(deleting=True))
    for topic, values in given.get("topic_config", {}).items():
        for config, value in values.items():
            controller.with_topic_config(config, value, topic)
    return controller


def _partitions(name: str, fields: Json) -> Iterator[Partition]:
    """Return one partition, or many with equal replicas: "10001 partitions on [0,1]"."""
    if isinstance(fields, str):
        count, replicas = _many(fields)
        for number in range(count):
            yield partition(f"{_topic(name)}-{number}", replicas)
    else:
        tuples = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
        yield partition(name, **tuples)


def _topic(name: str) -> str:
    """Return the topic of `big-*`."""
    return name.rpartition("-")[0]


def _orders(action: Mapping[str, Json]) -> Iterator[AlterTopic]:
    for topic, number, replicas in action.get("entries", ()):
        yield AlterTopic(topic, [AlterRow(number, tuple(replicas))])
    for topic, rows in action.get("topics", {}).items():
        if isinstance(rows, str):
            count, target = _many(rows)
            yield AlterTopic(topic, [AlterRow(number, target) for number in range(count)])
        else:
            yield AlterTopic(
                topic, [AlterRow(int(n), None if to is None else tuple(to)) for n, to in rows.items()]
            )


def _many(words: str) -> tuple[int, tuple[int, ...]]:
    count, *replicas = map(int, re.findall(r"\d+", words))
    return count, tuple(replicas)


def _operation(route: AnyRoute) -> Operation:
    assert route.operation is not None
    return route.operation


def _refused_alter(orders: Sequence[AlterTopic]) -> Reply:
    topics = [
        ReassignableTopic(topic, [ReassignablePartition(row.partition, row.replicas) for row in rows or ()])
        for topic, rows in orders
    ]
    request = AlterPartitionReassignmentsRequest(topics=topics)
    response = alter_partition_reassignments.refuse(request, _DENIED, None)
    rows = {
        f"{topic.name}-{row.partition_index}": Outcome(ErrorCode(row.error_code), row.error_message)
        for topic in response.responses
        for row in topic.partitions
    }
    return Reply(
        Outcome(ErrorCode(response.error_code)), rows, len(rows), [topic.name for topic in response.responses]
    )


def _refused_list(topics: Mapping[str, Sequence[int]]) -> Reply:
    asked = [ListPartitionReassignmentsTopics(topic, tuple(numbers)) for topic, numbers in topics.items()]
    request = ListPartitionReassignmentsRequest(topics=asked)
    return _listing(list_partition_reassignments.refuse(request, _DENIED, None))


def _listing(response: ListPartitionReassignmentsResponse) -> Reply:
    listed = {
        topic.name: {
            str(row.partition_index): {
                "replicas": list(row.replicas),
                "adding": list(row.adding_replicas),
                "removing": list(row.removing_replicas),
            }
            for row in topic.partitions
        }
        for topic in response.topics
    }
    return Reply(Outcome(ErrorCode(response.error_code), response.error_message), listed=listed)
