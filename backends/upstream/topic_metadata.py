"""The responses of a poll as the controller's types, and Metadata of all brokers in one view.

A broker may lag behind the controller, which does not answer Metadata itself. So a new topic may be unknown
at some brokers: an answer that there is no such replica needs to ask all of them.
"""

import asyncio
from collections.abc import Iterable, Sequence

from backends.client.errors import BrokerError, UnreachableError
from backends.upstream.client import UpstreamPort
from common.error_codes import ErrorCode, error_name
from controller.gateway.events import UpstreamMove, UpstreamPartition, UpstreamTopic
from controller.model.cluster import NO_ID
from controller.model.replicas import TopicPartition
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.metadata_response import MetadataResponse, MetadataResponseTopic


def polled_topics(response: MetadataResponse, keys: set[TopicPartition] | None) -> list[UpstreamTopic]:
    """Return the topics of the response with the partitions in `keys`; None includes all partitions.

    Topics with an error are left out: they do not exist, or their metadata is not complete yet. Raises
    BrokerError for an answer that makes no sense: the controller uses the numbers as indexes.
    """
    topics = []
    for topic in response.topics:
        name = topic.name or ""
        if topic.error_code != ErrorCode.NONE:
            continue
        _check_numbers(topic)
        rows = {
            row.partition_index: UpstreamPartition(
                tuple(row.replica_nodes), tuple(row.isr_nodes), row.leader_id, row.leader_epoch
            )
            for row in topic.partitions
            if keys is None or (name, row.partition_index) in keys
        }
        offline = {
            row.partition_index: tuple(row.offline_replicas)
            for row in topic.partitions
            if row.offline_replicas and row.partition_index in rows
        }
        topics.append(UpstreamTopic(name, topic.topic_id, rows, offline))
    return topics


def _check_numbers(topic: MetadataResponseTopic) -> None:
    numbers = {row.partition_index for row in topic.partitions}
    if numbers and (min(numbers), max(numbers) + 1, len(numbers)) != (0, len(numbers), len(topic.partitions)):
        raise BrokerError(
            f"Metadata makes no sense: the partitions of topic {topic.name} are not numbered from 0"
        )
    if not all(row.replica_nodes for row in topic.partitions):
        raise BrokerError(f"Metadata makes no sense: a partition of topic {topic.name} has no replicas")


def ongoing_moves(response: ListPartitionReassignmentsResponse) -> dict[TopicPartition, UpstreamMove]:
    """Return the reassignments of the response. Raises BrokerError."""
    if response.error_code != ErrorCode.NONE:
        raise BrokerError(f"Kafka refuses to list reassignments: {error_name(response.error_code)}")
    for topic in response.topics:
        if not all(row.partition_index >= 0 and row.replicas for row in topic.partitions):
            raise BrokerError(
                f"the list of reassignments makes no sense: topic {topic.name} has a negative partition"
                " or one without replicas"
            )
    return {
        TopicPartition(topic.name, row.partition_index): UpstreamMove(
            tuple(row.replicas), tuple(row.adding_replicas), tuple(row.removing_replicas)
        )
        for topic in response.topics
        for row in topic.partitions
    }


AT_ONCE = 4
"""Brokers that are asked at the same time. An answer about 100,000 partitions takes 100 MB."""


async def ask_every_broker(client: UpstreamPort) -> list[UpstreamTopic]:
    """Return all topics as the live brokers know them together. Brokers that do not answer are left out.

    Raises BrokerError if none answers, or if a topic cannot be described.
    """
    slots = asyncio.Semaphore(AT_ONCE)

    async def ask(broker: int) -> tuple[Sequence[UpstreamTopic], dict[str, int]]:
        async with slots:
            response = await client.ask(MetadataRequest(None, allow_auto_topic_creation=False), broker)
            return await client.off_loop.run(_view, response)

    live = sorted(broker.id for broker in client.brokers.values() if not broker.fenced)
    answers = await asyncio.gather(*map(ask, live), return_exceptions=True)
    failure = BrokerError("the upstream has no live broker")
    views: list[Sequence[UpstreamTopic]] = []
    refused: dict[str, int] = {}
    for answer in answers:
        if isinstance(answer, BrokerError):
            failure = answer
        elif isinstance(answer, BaseException):
            raise answer
        else:
            views.append(answer[0])
            refused |= answer[1]
    if not views:
        raise UnreachableError(str(failure)) from failure
    topics = await client.off_loop.run(merged, views)
    for topic in sorted(refused.keys() - {topic.name for topic in topics}):
        raise BrokerError(
            f"topic {topic} cannot be described: {error_name(refused[topic])}; try again if it is new"
        )
    return topics


def merged(views: Iterable[Iterable[UpstreamTopic]]) -> list[UpstreamTopic]:
    """Return one view: of each partition the newest row, with its offline replicas.

    The newest row has the latest leader epoch, and of equal ones the longest list: a new leader epoch begins
    when a reassignment or a cancel drops replicas, and none when replicas are only added.

    Brokers before Kafka 2.8 know no ids. Raises BrokerError if two topics of a name are shown: a broker lags
    behind a deletion, and the rows do not show which one.
    """
    found: dict[str, UpstreamTopic] = {}
    for view in views:
        for topic in view:
            known = found.setdefault(topic.name, topic)
            if NO_ID not in {known.id, topic.id} and known.id != topic.id:
                raise BrokerError(f"topic {topic.name} is shown with two ids: it was made anew; try again")
            if known.partitions != topic.partitions or known.id != topic.id:
                found[topic.name] = _newest_rows(known, topic)
    return list(found.values())


def _newest_rows(known: UpstreamTopic, other: UpstreamTopic) -> UpstreamTopic:
    rows, offline = dict(known.partitions), dict(known.offline)
    for number, row in other.partitions.items():
        if number not in rows or _age(row) > _age(rows[number]):
            rows[number], offline[number] = row, other.offline.get(number, ())
    offline = {number: replicas for number, replicas in offline.items() if replicas}
    topic_id = other.id if known.id == NO_ID else known.id
    return known._replace(id=topic_id, partitions=dict(sorted(rows.items())), offline=offline)


def _age(row: UpstreamPartition) -> tuple[int, int]:
    return row.leader_epoch, len(row.replicas)


def _view(response: MetadataResponse) -> tuple[Sequence[UpstreamTopic], dict[str, int]]:
    """Return the topics, and the errors of the others."""
    errors = {t.name or "": t.error_code for t in response.topics if t.error_code != ErrorCode.NONE}
    return polled_topics(response, None), errors
