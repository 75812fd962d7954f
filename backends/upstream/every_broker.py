"""What all brokers know of the topics, in one view: for answers that need to know that there is no such replica.

A broker may lag behind the controller, which does not answer Metadata itself. So a new topic may be unknown at some
brokers.
"""

import asyncio
from collections.abc import Iterable, Sequence

from backends.client.errors import BrokerError, UnreachableError
from backends.upstream.ports import UpstreamPort
from backends.upstream.topic_metadata import polled_topics
from common.error_codes import ErrorCode, error_name
from controller.messages.upstream_events import UpstreamPartition, UpstreamTopic
from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.metadata_response import MetadataResponse

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
    """Return one view: of each partition the newest row.

    That is the row with the latest leader epoch, and of equal ones the longest list: a new leader epoch begins when a
    reassignment or a cancel drops replicas, and none when replicas are only added.
    """
    found: dict[str, UpstreamTopic] = {}
    for view in views:
        for topic in view:
            known = found.setdefault(topic.name, topic)
            if known.partitions != topic.partitions and known.id == topic.id:
                rows = dict(known.partitions)
                for number, row in topic.partitions.items():
                    rows[number] = max(rows.get(number, row), row, key=_age)
                found[topic.name] = known._replace(partitions=dict(sorted(rows.items())))
    return list(found.values())


def _age(row: UpstreamPartition) -> tuple[int, int]:
    return row.leader_epoch, len(row.replicas)


def _view(response: MetadataResponse) -> tuple[Sequence[UpstreamTopic], dict[str, int]]:
    """Return the topics, and the errors of the others."""
    errors = {t.name or "": t.error_code for t in response.topics if t.error_code != ErrorCode.NONE}
    return polled_topics(response, None), errors
