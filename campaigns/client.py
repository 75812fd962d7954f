"""Client of one running server, over Kafka's protocol and over HTTP."""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import httpx

from campaigns.partition_model import Key, LostError, Replicas
from protocol.codec.schema import Request, Response
from protocol.codec.wire import schema_of
from protocol.frames import decode_response, parse_response
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.metadata_request import MetadataRequest
from tools.raw_connection import RawConnection, encode

ALL = 10_000
ATTEMPTS = 20
TOPIC, BROKER = 2, 4
DYNAMIC = {1, 2, 3}
"""Sources of dynamic configs of a topic, a broker and all brokers (Kafka:
DescribeConfigsResponse.ConfigSource)."""


class NoAnswerError(Exception):
    """There was no answer: the request may have been carried out or not."""


class RefusedError(Exception):
    """The server refused the request and changed nothing."""


class CampaignClient:
    """Sends requests to a random broker of `up`, and to the HTTP API."""

    def __init__(self, bootstrap: str, http: str, brokers: int, rng: random.Random) -> None:
        self._host, _, port = bootstrap.rpartition(":")
        self._first_port = int(port)
        self._rng = rng
        self._http = httpx.Client(base_url=f"http://{http}", timeout=20)
        self.all = range(1, brokers + 1)
        self.up = set(self.all)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    # ---- HTTP -----------------------------------------------------------------------------------------

    def http(self, method: str, path: str, body: object = None, tag: str = "", **query: object) -> Any:
        """Return the JSON of the answer. Raises NoAnswerError, RefusedError."""
        try:
            answer = self._http.request(
                method,
                path,
                json=body,
                params={name: str(value).lower() for name, value in query.items()},
                headers={"user-agent": tag},
            )
        except httpx.TransportError as error:
            raise NoAnswerError(str(error)) from error
        if answer.status_code == 503:
            raise NoAnswerError(answer.text)
        if answer.is_error:
            raise RefusedError(answer.text)
        return answer.json()

    def job(self, number: int) -> Any:
        """Return a job with all its partitions.

        Raises LostError if partitions are missing in ATTEMPTS attempts.

        The server builds a long listing in slices; partitions that change meanwhile may be missing.
        """
        found = ""
        for _ in range(ATTEMPTS):
            detail = self.http("GET", f"/v1/jobs/{number}", limit=ALL)
            parts = {(part["topic"], part["partition"]): part for part in detail["partitions"]}
            if len(parts) == detail["job"]["total"]:
                return {**detail, "partitions": list(parts.values())}
            found = f"{len(parts)} of {detail['job']['total']}"
        raise LostError(f"job {number} lists {found} partitions")

    # ---- Kafka's protocol -----------------------------------------------------------------------------

    def kafka(
        self, request: Request[Response], version: int, tag: str = "kills", broker: int = 0
    ) -> Response:
        """Return the decoded answer. Raises NoAnswerError."""
        port = self._first_port + (broker or self._rng.choice(sorted(self.up))) - 1
        try:
            connection = RawConnection(f"{self._host}:{port}")
            try:
                _, answer = connection.timed(encode(request, version, tag))
            finally:
                connection.close()
        except OSError as error:
            raise NoAnswerError(str(error)) from error
        frame = parse_response(answer, schema_of(type(request)).api_key or 0, version)
        return decode_response(frame, request.response_class())

    def alter(self, rows: Mapping[Key, Replicas | None], tag: str) -> dict[Key, int]:
        """Send a plan. Return the error code of each row."""
        topics: dict[str, list[ReassignablePartition]] = {}
        for (topic, partition), replicas in rows.items():
            topics.setdefault(topic, []).append(ReassignablePartition(partition, replicas))
        named = [ReassignableTopic(*each) for each in topics.items()]
        answer = self.kafka(AlterPartitionReassignmentsRequest(topics=named), 0, tag)
        return {
            (topic.name, row.partition_index): row.error_code
            for topic in answer.responses
            for row in topic.partitions
        }

    def create(self, name: str, assignment: Sequence[Replicas], size: int) -> int:
        """Create a topic. Return the error code."""
        rows = [CreatableReplicaAssignment(*each) for each in enumerate(assignment)]
        config = CreatableTopicConfig("embedded.partition.bytes", str(size))
        answer = self.kafka(CreateTopicsRequest([CreatableTopic(name, -1, -1, rows, [config])]), 7)
        code: int = answer.topics[0].error_code
        return code

    def delete(self, name: str) -> int:
        """Delete a topic. Return the error code."""
        code: int = self.kafka(DeleteTopicsRequest([DeleteTopicState(name)]), 6).responses[0].error_code
        return code

    def ongoing(self) -> dict[Key, Replicas]:
        """Return the target of each reassignment (46)."""
        return {
            (topic.name, row.partition_index): row.replicas[: len(row.replicas) - len(row.removing_replicas)]
            for topic in self.kafka(ListPartitionReassignmentsRequest(), 0).topics
            for row in topic.partitions
        }

    def replicas(self) -> dict[Key, tuple[Replicas, Replicas]]:
        """Return replicas and ISR of every partition, from Metadata."""
        return {
            (topic.name or "", row.partition_index): (row.replica_nodes, row.isr_nodes)
            for topic in self.kafka(MetadataRequest(None), 12).topics
            for row in topic.partitions
        }

    def hosted(self) -> set[tuple[int, Key]]:
        """Return every replica in the log directories of every broker."""
        return {
            (broker, (topic.name, row.partition_index))
            for broker in self.all
            for log_dir in self.kafka(DescribeLogDirsRequest(None), 4, broker=broker).results
            for topic in log_dir.topics
            for row in topic.partitions
        }

    def set_configs(self, topics: Iterable[str]) -> set[tuple[str, str]]:
        """Return the dynamic configs of brokers and the throttles of topics as (resource, config)."""
        wanted = [DescribeConfigsResource(BROKER, str(number), None) for number in self.all]
        wanted += [DescribeConfigsResource(TOPIC, name, None) for name in topics]
        return {
            (result.resource_name, config.name)
            for result in self.kafka(DescribeConfigsRequest(wanted), 4).results
            for config in result.configs
            if config.config_source in DYNAMIC
            and (result.resource_type == BROKER or "throttled" in config.name)
        }
