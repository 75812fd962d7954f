"""DescribeConfigs (32)."""

from typing import Any

from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_configs_response import DescribeConfigsResult
from server.handlers.describe_configs import handle, refuse
from tests.builders import InMemoryController, partition
from tests.server.fakes import NOBODY, answer, context, encodable

TOPIC, BROKER = 2, 4


def controller() -> InMemoryController:
    return (
        InMemoryController((1, 2))
        .with_partitions(partition("foo-0", [1]))
        .with_topic_config("min.insync.replicas", "2")
    )


async def ask(kind: int, name: str, *keys: str, **fields: Any) -> DescribeConfigsResult:
    resource = DescribeConfigsResource(kind, name, keys or None)
    request = DescribeConfigsRequest([resource], **fields)
    response = encodable(await answer(handle, request, context(4, controller().state)), 32)
    (result,) = response.results
    assert isinstance(result, DescribeConfigsResult)
    return result


async def test_a_set_value_and_its_synonyms_are_described() -> None:
    result = await ask(TOPIC, "foo", "min.insync.replicas", include_synonyms=True)
    (config,) = result.configs
    assert (result.error_code, result.error_message) == (0, None)
    assert (config.value, config.config_source, config.config_type) == ("2", 1, 3)
    assert [(each.value, each.source) for each in config.synonyms] == [("2", 1), ("1", 5)]
    assert config.documentation is None


async def test_documentation_is_returned_on_request() -> None:
    result = await ask(TOPIC, "foo", "min.insync.replicas", include_documentation=True)
    assert result.configs[0].documentation
    assert result.configs[0].synonyms == ()


async def test_null_keys_describe_all() -> None:
    assert "retention.ms" in {config.name for config in (await ask(TOPIC, "foo")).configs}


async def test_a_config_is_described_under_its_name_in_a_draft_if_that_is_asked_for() -> None:
    name, other = "reassignment.max.concurrent.partition.movements", "reassignment.parallel.partition.count"
    for keys in ((other,), (name,), (other, name), (name, other, other)):
        assert {config.name for config in (await ask(BROKER, "1", *keys)).configs} == set(keys)
    assert other not in {config.name for config in (await ask(BROKER, "1")).configs}


async def test_brokers_and_their_default_are_described() -> None:
    assert (await ask(BROKER, "1")).error_code == 0
    assert (await ask(BROKER, "")).configs == []


async def test_an_unknown_resource_has_an_error() -> None:
    assert (await ask(TOPIC, "nope")).error_code == 3
    assert (await ask(BROKER, "9")).error_code == 42
    assert (await ask(8, "1")).error_code == 42


async def test_a_principal_without_describe_permission_is_refused() -> None:
    resources = [DescribeConfigsResource(TOPIC, "foo", None), DescribeConfigsResource(BROKER, "1", None)]
    asked = context(4, controller().state, authorizer=NOBODY)
    response = await answer(handle, DescribeConfigsRequest(resources), asked)
    assert [result.error_code for result in response.results] == [29, 31]


async def test_many_resources_are_described_one_by_one() -> None:
    request = DescribeConfigsRequest([DescribeConfigsResource(TOPIC, "foo", ("retention.ms",))] * 120)
    assert len((await answer(handle, request, context(4, controller().state))).results) == 120


def test_a_refusal_is_repeated_for_every_resource() -> None:
    request = DescribeConfigsRequest([DescribeConfigsResource(TOPIC, "foo")])
    assert tuple(refuse(request, -1, None).results[0]) == (-1, None, TOPIC, "foo", ())


async def test_a_resource_that_is_named_twice_is_not_described() -> None:
    foo, broker = DescribeConfigsResource(TOPIC, "foo", None), DescribeConfigsResource(BROKER, "1", None)
    request = DescribeConfigsRequest([foo, broker, foo])
    response = await answer(handle, request, context(4, controller().state))
    assert [(row.error_code, bool(row.configs)) for row in response.results] == [
        (42, False),
        (0, True),
        (42, False),
    ]
