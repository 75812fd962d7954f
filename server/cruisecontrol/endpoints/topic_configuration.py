"""`POST /topic_configuration`: change replication factors, several in one plan."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from common.json.models import convert_model
from common.json.text import parse
from common.plan_errors import PlanError
from server.api.shared.proposals import ProposalRequest, TopicFactor
from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.errors import CruiseControlError, bad_parameter
from server.cruisecontrol.shared.optimization import Wanted, optimize
from server.cruisecontrol.shared.patterns import chosen_topics
from server.cruisecontrol.shared.plan_parameters import PlanParameters
from server.cruisecontrol.shared.tasks import RunningTask

WAIT_SECONDS = 45.0
"""Strimzi's topic operator takes an answer of 202 for a failure, and waits for 60 s."""

MOST_FACTORS = 100
"""In one body. Each has an expression that is matched with all topics."""

Factor = Annotated[int, Meta(ge=1, le=2**15 - 1)]


class TopicConfigurationParameters(PlanParameters, kw_only=True):
    """The parameters of replication factors. A body may give them instead."""

    topic: Annotated[str, Meta(description="Regular expression of the topics.")] = ""
    replication_factor: Annotated[Factor | None, Meta(description="Their new factor.")] = None
    skip_rack_awareness_check: Annotated[bool, Meta(description="Replicas may share racks.")] = False


class _Factors(Struct, forbid_unknown_fields=True):
    by_factor: dict[str, str] = msgspec.field(name="topic_by_replication_factor")


class _Body(Struct, forbid_unknown_fields=True):
    replication_factor: _Factors


async def topic_configuration(
    call: CruiseControlCall, given: TopicConfigurationParameters, task: RunningTask
) -> bytes:
    """Plan, and execute if it is no dry run."""
    factors = _factors(call.body, given)
    # The topics may just have been created.
    await call.call.refresh()
    for each in factors:
        if not (each.topics and await chosen_topics(call, each.topics)):
            raise CruiseControlError(500, f"There is no topic '{each.topics[:200]}'.")
    racks = not given.skip_rack_awareness_check
    request = ProposalRequest(factors=factors, disable_rack_aware=not racks)
    return await optimize(call, given, Wanted(request), task)


def _factors(body: bytes, given: TopicConfigurationParameters) -> list[TopicFactor]:
    if given.topic and given.replication_factor is not None:
        return [TopicFactor(given.replication_factor, given.topic)]
    if not body:
        raise bad_parameter("Give topic and replication_factor, or a body with topic_by_replication_factor.")
    try:
        by_factor = convert_model(parse(body), _Body).replication_factor.by_factor
    except PlanError as error:
        raise bad_parameter(str(error)) from error
    if len(by_factor) > MOST_FACTORS:
        raise bad_parameter(f"{len(by_factor)} replication factors; at most {MOST_FACTORS} at once.")
    factors = []
    for text, topics in by_factor.items():
        if not (text.isascii() and text.isdecimal() and 0 < int(text[:6]) < 2**15):
            raise bad_parameter(f"'{text[:40]}' is no replication factor.")
        factors.append(TopicFactor(int(text), topics))
    return factors


ENDPOINTS = (
    Endpoint(
        "POST",
        "topic_configuration",
        "Change replication factors.",
        TopicConfigurationParameters,
        work=topic_configuration,
        held=True,
        takes_body=True,
        wait_seconds=WAIT_SECONDS,
    ),
)
