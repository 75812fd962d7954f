"""Config requests at the controller listener. Some are relayed, others are answered here after a query."""

from typing import Any

import pytest

from controller.messages.events import AlterConfigs
from controller.model.access import Operation
from protocol.codec.errors import DecodeError
from protocol.messages.alter_configs_request import AlterableConfig as ReplacedConfig
from protocol.messages.alter_configs_request import AlterConfigsRequest
from protocol.messages.alter_configs_request import AlterConfigsResource as ReplacedResource
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.metadata_response import MetadataResponse
from server.relay.exchange import LARGEST_DECODED, PASSED, Exchange, Interceptor
from server.zookeeper.configs import configs
from tests.frames import decode_request
from tests.server.relay.doubles import Talk, client, incoming, incoming_part
from tests.server.zookeeper.conftest import EndpointRig

MOVEMENTS = "reassignment.max.concurrent.partition.movements"
BROKER, TOPIC = 4, 2
PERMITTED = MetadataResponse(cluster_authorized_operations=1 << Operation.ALTER_CONFIGS)


def interceptor(endpoint_rig: EndpointRig) -> Interceptor:
    return configs(1000, endpoint_rig.endpoint, endpoint_rig.endpoint.answer)


def change(kind: int, name: str, *keys: tuple[str, str]) -> IncrementalAlterConfigsRequest:
    rows = [AlterableConfig(key, 0, value) for key, value in keys]
    return IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, rows)])


def replacement(*keys: tuple[str, str]) -> AlterConfigsRequest:
    return AlterConfigsRequest([ReplacedResource(BROKER, "", [ReplacedConfig(*key) for key in keys])])


@pytest.mark.parametrize(
    ("kind", "name", "key", "ours"),
    [
        (BROKER, "", MOVEMENTS, True),
        (BROKER, "1000", "leader.replication.throttled.rate", True),
        (BROKER, "", "log.cleaner.threads", False),
        (BROKER, "", "x.reassignment.x", False),
        (BROKER, "1", "queued.max.requests-1000", False),
        (TOPIC, "1000", "retention.ms", False),
    ],
)
@pytest.mark.parametrize("active", [True, False])
def test_config_requests_are_relayed_unless_they_concern_own_keys(
    endpoint_rig: EndpointRig, active: bool, kind: int, name: str, key: str, ours: bool
) -> None:
    if active:
        endpoint_rig.activate()
    result = interceptor(endpoint_rig)(incoming(change(kind, name, (key, "1")), 0), client())
    assert (result is PASSED) is not ours


def test_configs_are_described_here_for_the_own_id_only(endpoint_rig: EndpointRig) -> None:
    for name, ours in (("1000", True), ("", False), ("1", False)):
        request = DescribeConfigsRequest([DescribeConfigsResource(BROKER, name)])
        assert (interceptor(endpoint_rig)(incoming(request, 1), client()) is PASSED) is not ours


async def test_an_inactive_controller_answers_changes_of_own_keys_with_not_controller(
    endpoint_rig: EndpointRig,
) -> None:
    talk = Talk(interceptor(endpoint_rig), change(BROKER, "", (MOVEMENTS, "1")), 1)
    assert talk.upstream.api_key == 3
    assert [row.error_code for row in (await talk.answer(PERMITTED)).responses] == [41]


def test_the_query_names_other_topics_except_missing_internal_ones(endpoint_rig: EndpointRig) -> None:
    [ours], [theirs], [internal] = (
        change(*each, ("retention.ms", "1")).resources
        for each in ((BROKER, "1000"), (TOPIC, "foo"), (TOPIC, "__consumer_offsets"))
    )
    talk = Talk(interceptor(endpoint_rig), IncrementalAlterConfigsRequest([ours, theirs, internal]), 1)
    assert [each.name for each in decode_request(talk.upstream).topics] == ["foo"]


async def test_the_active_controller_alters_own_keys_for_permitted_principals(
    endpoint_rig: EndpointRig,
) -> None:
    endpoint_rig.activate([(0, None)])
    talk = Talk(interceptor(endpoint_rig), change(BROKER, "", (MOVEMENTS, "1")), 1)
    assert [row.error_code for row in (await talk.answer(PERMITTED)).responses] == [0]
    assert len(endpoint_rig.driver.events) == 1


async def test_own_keys_are_not_altered_without_permission(endpoint_rig: EndpointRig) -> None:
    endpoint_rig.activate([])
    talk = Talk(interceptor(endpoint_rig), change(BROKER, "", (MOVEMENTS, "1")), 1)
    assert [row.error_code for row in (await talk.answer(MetadataResponse())).responses] == [31]
    [event] = endpoint_rig.driver.events
    assert isinstance(event, AlterConfigs)
    assert (event.resources, event.validate_only) == ([], False)


@pytest.mark.parametrize("value", ["1", "0"])
def test_mixed_keys_are_validated_here_and_altered_by_a_broker(endpoint_rig: EndpointRig, value: str) -> None:
    endpoint_rig.activate()
    both = (MOVEMENTS, value), ("log.cleaner.threads", "1")
    requests: list[Any] = [change(BROKER, "", *both), replacement(*both)]
    for request in requests:
        assert (interceptor(endpoint_rig)(incoming(request, 1), client()) is PASSED) is (value == "1")


@pytest.mark.parametrize(("may", "code"), [(PERMITTED, 40), (MetadataResponse(), 31)])
async def test_the_error_of_an_own_key_is_revealed_to_permitted_principals(
    endpoint_rig: EndpointRig, may: MetadataResponse, code: int
) -> None:
    endpoint_rig.activate()
    talk = Talk(
        interceptor(endpoint_rig), change(BROKER, "", (MOVEMENTS, "0"), ("log.cleaner.threads", "1")), 1
    )
    assert [row.error_code for row in (await talk.answer(may)).responses] == [code]
    assert endpoint_rig.driver.events == []


def test_an_unknown_resource_or_operation_is_refused(endpoint_rig: EndpointRig) -> None:
    endpoint_rig.activate()
    keys = [AlterableConfig(MOVEMENTS, 9, "1"), AlterableConfig("log.cleaner.threads", 0, "1")]
    unknown = IncrementalAlterConfigsRequest([AlterConfigsResource(BROKER, "", keys)])
    for request in (unknown, change(99, "", (MOVEMENTS, "1"), ("log.cleaner.threads", "1"))):
        result = interceptor(endpoint_rig)(incoming(request, 1), client())
        assert isinstance(result, Exchange)
        assert result.upstream is not None


def test_an_unsupported_version_is_relayed_to_a_broker(endpoint_rig: EndpointRig) -> None:
    whole = incoming(DescribeConfigsRequest([DescribeConfigsResource(BROKER, "1000")]), 1)
    assert interceptor(endpoint_rig)(whole._replace(api_version=0), client()) is PASSED


def test_whole_requests_are_read_up_to_a_limit(endpoint_rig: EndpointRig) -> None:
    whole = incoming(change(BROKER, "1000", ("x", "1")), 0)
    assert (
        interceptor(endpoint_rig)(incoming_part(bytes(whole.frame[:20]), whole.size), client()) == whole.size
    )
    with pytest.raises(DecodeError, match="bytes for configs"):
        interceptor(endpoint_rig)(incoming_part(bytes(whole.frame), LARGEST_DECODED + 1), client())


async def test_a_request_with_too_many_rows_is_refused_here(endpoint_rig: EndpointRig) -> None:
    endpoint_rig.activate()
    rows = [AlterConfigsResource(TOPIC, f"t{number}", ()) for number in range(20_001)]
    request = change(BROKER, "", (MOVEMENTS, "7"))._replace(
        resources=rows + list(change(BROKER, "", (MOVEMENTS, "7")).resources)
    )
    talk = Talk(interceptor(endpoint_rig), request, 1)
    response = await talk.answer(PERMITTED)
    assert {row.error_code for row in response.responses} == {42}
    assert endpoint_rig.driver.events == []
