"""CreateTopics (19), versions 2-7.

KIP: 4, 195 (manual assignments), 464 (v4, defaults), 525 (v5, configs in the response), 516 (v7, topic ids).
ACL: CREATE on the cluster or on the topic; DESCRIBE_CONFIGS on the topic for its configs in the response.
Errors by topic: TOPIC_AUTHORIZATION_FAILED, TOPIC_ALREADY_EXISTS, INVALID_TOPIC_EXCEPTION, INVALID_REQUEST,
INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR, INVALID_REPLICA_ASSIGNMENT, INVALID_CONFIG, POLICY_VIOLATION.
"""

from common.error_codes import ErrorCode
from controller.cluster.configs import describe_configs
from controller.messages.events import CreatedTopic, CreateTopics, NewTopic
from controller.model.access import Operation
from controller.model.cluster import ResourceType
from protocol.apis import ApiKey
from protocol.counter import Bounds
from protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from protocol.messages.create_topics_response import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsResponse,
)
from server.dispatch.context import (
    TOPIC_DENIED,
    Context,
    RowError,
    repeated,
)
from server.dispatch.registry import handles


def refuse(request: CreateTopicsRequest, code: int, message: str | None) -> CreateTopicsResponse:
    """Repeat the error for every topic."""
    return CreateTopicsResponse(topics=[_refused(topic, (code, message)) for topic in request.topics])


@handles(
    ApiKey.CREATE_TOPICS,
    CreateTopicsRequest,
    versions=(2, 7),
    refuse=refuse,
    bounds=Bounds(rows=50_000, numbers=200_000),
    excess=ErrorCode.POLICY_VIOLATION,
)
async def handle(request: CreateTopicsRequest, context: Context) -> CreateTopicsResponse:
    """Submit the topics that the principal may create to the controller."""
    refusals = [_refusal(topic, context) for topic in request.topics]
    accepted = [
        _new_topic(topic, context.services.new_id())
        for topic, refusal in zip(request.topics, refusals, strict=True)
        if refusal is None
    ]
    created = await context.services.driver.submit(CreateTopics(accepted, request.validate_only))
    results = iter(created)
    rows: list[CreatableTopicResult] = []
    for topic, refusal in zip(request.topics, refusals, strict=True):
        rows.append(_created(next(results), context) if refusal is None else _refused(topic, refusal))
        await context.yield_to_loop(len(rows))
    return CreateTopicsResponse(topics=rows)


def _refusal(topic: CreatableTopic, context: Context) -> RowError | None:
    allowed = context.allows(Operation.CREATE) or context.allows_topic(Operation.CREATE, topic.name)
    if not allowed:
        return TOPIC_DENIED
    for index in sorted(repeated(assignment.partition_index for assignment in topic.assignments)):
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"Partition {index} is assigned more than once."
    return None


def _new_topic(topic: CreatableTopic, topic_id: bytes) -> NewTopic:
    return NewTopic(
        topic.name,
        topic_id,
        topic.num_partitions,
        topic.replication_factor,
        {assignment.partition_index: assignment.broker_ids for assignment in topic.assignments},
        {config.name: config.value for config in topic.configs},
    )


def _refused(topic: CreatableTopic, refusal: RowError) -> CreatableTopicResult:
    return CreatableTopicResult(topic.name, error_code=refusal[0], error_message=refusal[1], configs=None)


def _created(created: CreatedTopic, context: Context) -> CreatableTopicResult:
    name, (error, message) = created.name, created.outcome
    if error:
        return CreatableTopicResult(name, error_code=error, error_message=message, configs=None)
    result = CreatableTopicResult(name, error_message=None)
    known = context.state.cluster.topics.get(name)
    if known is not None:
        result = result._replace(topic_id=known.id)
    if not context.allows_topic(Operation.DESCRIBE_CONFIGS, name):
        denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return result._replace(topic_config_error_code=denied, configs=None)
    configs = [
        CreatableTopicConfigs(config.key.name, config.value, config_source=config.source)
        for config in describe_configs(context.state, ResourceType.TOPIC, name)
    ]
    return result._replace(
        num_partitions=created.partitions, replication_factor=created.replication_factor, configs=configs
    )
