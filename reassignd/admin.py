"""kafka-python's admin client, with what reassignd adds to Kafka's requests; needs the extra `client`.

    admin = ReassigndAdminClient(bootstrap_servers="127.0.0.1:9092", url="http://127.0.0.1:9080")
    order = admin.order({TopicPartition("orders", 0): [4, 5, 6]})
    admin.set_limits(P=10, throttle=50_000_000)
    admin.roll_back(order.job)

Every method of kafka-python's client works as well. Each call blocks; in asyncio, use `asyncio.to_thread`.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from kafka import KafkaAdminClient, TopicPartition, errors
from kafka.admin import AlterConfigOp, ConfigResourceType
from kafka.protocol.admin import IncrementalAlterConfigsRequest, ListPartitionReassignmentsRequest
from kafka.protocol.api_message import ApiMessage

from controller.model.configs import THROTTLE
from controller.model.plan import Entry, plan_of
from controller.scheduling.limits import LIMITS
from reassignd.client import Client, JsonObject, Target
from reassignd.config.errors import CommandError

CONFIGS = {limit.name: limit.config for limit in LIMITS} | {"throttle": THROTTLE}
"""Short name of a limit -> config."""

Schema = dict[str, Any]
Errors = Mapping[TopicPartition, type[Exception] | None]
"""By partition the error of kafka-python, or None if the order was accepted."""


def _field(name: str, kind: str) -> Schema:
    return {"name": name, "type": kind, "versions": "0+"}


def _tagged(name: str, tag: int, kind: str, default: str) -> Schema:
    return _field(name, kind) | {"tag": tag, "taggedVersions": "0+", "default": default, "ignorable": True}


class AlterPartitionReassignmentsRequest(ApiMessage):  # type: ignore[misc]
    """Kafka's request 45, whose topics, and partitions of a topic, may be null.

    Null stands for all of them (KIP-455's draft).
    """

    @classmethod
    def json_patch(cls, schema: Schema) -> Schema:
        """Change Kafka's schema."""
        topics = next(field for field in schema["fields"] if field["name"] == "Topics")
        partitions = next(field for field in topics["fields"] if field["name"] == "Partitions")
        topics["nullableVersions"] = partitions["nullableVersions"] = "0+"
        return schema


# kafka-python finds the class of a response by its API key. These two take the places of its own, which lack
# one field.


class AlterPartitionReassignmentsResponse(ApiMessage):  # type: ignore[misc]
    """Kafka's response 45 with the job in tagged field 236."""

    @classmethod
    def json_patch(cls, schema: Schema) -> Schema:
        """Add the field to Kafka's schema."""
        schema["fields"].append(_tagged("JobId", 236, "int64", "0"))
        return schema


class ListPartitionReassignmentsResponse(ApiMessage):  # type: ignore[misc]
    """Kafka's response 46 with the current batch of KIP-435 in tagged field 435."""

    @classmethod
    def json_patch(cls, schema: Schema) -> Schema:
        """Add the field to Kafka's schema."""
        numbers = [("PartitionIndex", "int32"), ("CurrentReplicas", "[]int32"), ("TargetReplicas", "[]int32")]
        batch = _tagged("CurrentBatch", 435, "[]CurrentBatchTopic", "null") | {
            "nullableVersions": "0+",
            "fields": [
                _field("Name", "string"),
                _field("Partitions", "[]CurrentBatchPartition")
                | {"fields": [_field(*each) for each in numbers]},
            ],
        }
        schema["fields"].append(batch)
        return schema


class Order(NamedTuple):
    """The answer to an order. `job` is None if the server accepted nothing, or is not reassignd."""

    job: int | None
    errors: Errors


class Batch(NamedTuple):
    """The replicas of a partition after its last completed step, and after the one in flight (KIP-435)."""

    current: Sequence[int]
    target: Sequence[int]


class ReassigndAdminClient(KafkaAdminClient):  # type: ignore[misc]
    """kafka-python's admin client, and at `url` the server's HTTP API for the queue and rollbacks."""

    def __init__(self, *, url: str | None = None, token_file: Path | None = None, **configs: Any) -> None:  # noqa: ANN401
        self._http = None if url is None else Client(Target(url, token_file))
        super().__init__(**configs)

    def __enter__(self) -> Self:
        return self

    def close(self) -> None:
        """Close both connections."""
        if self._http is not None:
            self._http.__exit__()
        super().close()

    def order(self, reassignments: Mapping[TopicPartition, Sequence[int] | None]) -> Order:
        """Order reassignments as one job; None cancels that of a partition."""
        topics = self._process_alter_partition_reassignments_input(reassignments)
        return self._order([(each.name, each.partitions) for each in topics])

    def cancel_topic(self, topic: str) -> Errors:
        """Cancel all reassignments of a topic. Return the partitions that had one."""
        found = self._order([(topic, None)]).errors
        error = found.get(TopicPartition(topic, -1))  # That of the topic as a whole.
        if error is None:
            return found
        if error is errors.NoReassignmentInProgressError:
            return {}
        raise error(topic)

    def cancel_all(self) -> Errors:
        """Cancel all reassignments. Return the partitions that had one."""
        try:
            return self._order(None).errors
        except errors.NoReassignmentInProgressError:
            return {}

    def current_batch(self) -> dict[TopicPartition, Batch]:
        """Return the steps in flight of the listed reassignments (KIP-435); empty for Kafka's own brokers."""
        request = ListPartitionReassignmentsRequest(timeout_ms=self._validate_timeout(None), topics=None)
        response = self._run(request)
        return {
            TopicPartition(topic.name, row.partition_index): Batch(row.current_replicas, row.target_replicas)
            for topic in response.current_batch or ()
            for row in topic.partitions
        }

    def set_limits(self, **limits: int | None) -> None:
        """Set cluster-wide limits: R, P, L, C, B, bytes, and `throttle` in bytes per second.

        None removes a limit.
        """
        if unknown := limits.keys() - CONFIGS.keys():
            raise ValueError(f"unknown limit {min(unknown)}; known: {', '.join(CONFIGS)}")
        change = IncrementalAlterConfigsRequest.AlterConfigsResource.AlterableConfig
        changes = [
            change(CONFIGS[name], AlterConfigOp.DELETE, None)
            if value is None
            else change(CONFIGS[name], AlterConfigOp.SET, str(value))
            for name, value in limits.items()
        ]
        # kafka-python's own method takes the id of a broker only. The empty name is the default of all
        # brokers.
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource
        default = resource(ConfigResourceType.BROKER, "", changes)
        request = IncrementalAlterConfigsRequest(resources=[default], validate_only=False)
        [outcome] = self._manager.run(self._manager.send, request).responses
        if outcome.error_code:
            raise errors.for_code(outcome.error_code)(outcome.error_message)

    def limits(self) -> dict[str, int | None]:
        """Return the limits in force by short name; None for no limit."""
        rows = self._api.get("/v1/limits")["limits"]
        return {row["name"]: row["limit"] for row in rows if row["name"] in CONFIGS}

    def queue(
        self, reassignments: Mapping[TopicPartition, Sequence[int]], *, append: bool = False
    ) -> int | None:
        """Queue a plan behind the present jobs (KIP-236). Return its job; None if nothing is to be done."""
        entries = (Entry(key.topic, key.partition, tuple(to)) for key, to in reassignments.items())
        answer = self._api.post("/v1/jobs", plan_of(entries), queue=True, append=append)
        job: int | None = answer["job"]
        return job

    def job(self, number: int) -> JsonObject:
        """Return the state and the numbers of a job."""
        found: JsonObject = self._api.get(f"/v1/jobs/{number}", limit=0)["job"]
        return found

    def roll_back(self, job: int) -> int | None:
        """Start a job that moves all partitions of a job back, finished ones too.

        Return it; None for nothing to do.
        """
        number: int | None = self._api.post(f"/v1/jobs/{job}/rollback")["job"]
        return number

    @property
    def _api(self) -> Client:
        if self._http is None:
            raise CommandError("the queue, jobs and limits are read by HTTP: give the url of the server")
        return self._http

    def _order(self, topics: Iterable[tuple[str, Any]] | None) -> Order:
        request_topic = AlterPartitionReassignmentsRequest.ReassignableTopic
        named = (
            None if topics is None else [request_topic(name=name, partitions=rows) for name, rows in topics]
        )
        response = self._run(
            AlterPartitionReassignmentsRequest(timeout_ms=self._validate_timeout(None), topics=named)
        )
        outcomes = {
            TopicPartition(topic.name, row.partition_index): errors.for_code(row.error_code)
            for topic in response.responses
            for row in topic.partitions
        }
        found = {key: None if error is errors.NoError else error for key, error in outcomes.items()}
        return Order(response.job_id or None, found)

    def _run(self, request: Any) -> Any:  # noqa: ANN401
        return self._manager.run(
            self._send_request_to_controller,
            request,
            lambda answer: iter([errors.for_code(answer.error_code)]),
        )
