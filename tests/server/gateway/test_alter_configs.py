"""IncrementalAlterConfigs (44) and AlterConfigs (33) with reassignd's keys among the upstream's."""

from typing import Any

import pytest

from controller.model.cluster import Config, ResourceType
from protocol.messages.alter_configs_request import AlterableConfig as ReplacedConfig
from protocol.messages.alter_configs_request import AlterConfigsRequest
from protocol.messages.alter_configs_request import AlterConfigsResource as ReplacedResource
from protocol.messages.alter_configs_response import AlterConfigsResponse
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from server.gateway.configs import alter, incremental_alter
from server.gateway.services import DENIED, only_named
from server.relay.exchange import PASSED
from tests.frames import decode_request
from tests.server.gateway.doubles import FakeServices
from tests.server.relay.doubles import Talk, client, incoming

MOVEMENTS = "reassignment.max.concurrent.partition.movements"
LEADERS = "reassignment.max.concurrent.leader.movements"
BROKER, TOPIC = ResourceType.BROKER, ResourceType.TOPIC
SET, DELETE = 0, 1


def changes(kind: int, name: str, *configs: tuple[str, int, str | None]) -> AlterConfigsResource:
    return AlterConfigsResource(kind, name, [AlterableConfig(*each) for each in configs])


def row(kind: int, name: str, code: int = 0, message: str | None = None) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(code, message, kind, name)


@pytest.fixture
def fake() -> FakeServices:
    return FakeServices()


class Change(Talk):
    """An IncrementalAlterConfigs request with these resources."""

    def __init__(
        self, fake: FakeServices, *resources: AlterConfigsResource, validate_only: bool = False
    ) -> None:
        request = IncrementalAlterConfigsRequest(resources, validate_only)
        super().__init__(incremental_alter(fake.services, fake.off_loop), request, 1)

    @property
    def asked_of_upstream(self) -> list[tuple[int, str, list[str]]]:
        return [
            (each.resource_type, each.resource_name, [config.name for config in each.configs])
            for each in decode_request(self.upstream).resources
        ]

    async def rows(self, *theirs: AlterConfigsResourceResponse) -> list[tuple[int, str]]:
        response = await self.answer(IncrementalAlterConfigsResponse(responses=theirs))
        return [(each.error_code, each.resource_name) for each in response.responses]


def values(fake: FakeServices) -> dict[str, str]:
    return fake.state.settings.configs.get((BROKER, ""), {})


async def test_own_keys_are_altered_here_and_the_rest_is_relayed(fake: FakeServices) -> None:
    change = Change(fake, changes(BROKER, "", (MOVEMENTS, SET, "7"), ("log.retention.ms", SET, "9")))
    assert change.asked_of_upstream == [(BROKER, "", ["log.retention.ms"])]
    assert values(fake) == {}
    assert await change.rows(row(BROKER, "")) == [(0, "")]
    assert values(fake) == {MOVEMENTS: "7"}


async def test_a_request_with_own_keys_only_is_relayed_without_resources(fake: FakeServices) -> None:
    change = Change(fake, changes(BROKER, "", (MOVEMENTS, SET, "7")))
    assert change.asked_of_upstream == [(BROKER, "", [])]
    await change.rows(row(BROKER, ""))
    assert values(fake) == {MOVEMENTS: "7"}


@pytest.mark.parametrize("name", ["", "1"])
async def test_own_keys_are_not_altered_if_the_upstream_refuses(fake: FakeServices, name: str) -> None:
    change = Change(fake, changes(BROKER, name, (MOVEMENTS, SET, "7")))
    answer = await change.answer(
        IncrementalAlterConfigsResponse(responses=[row(BROKER, name, 31, "User:bob may not")])
    )
    (refused,) = answer.responses
    assert tuple(refused) == (31, "Cluster authorization failed.", BROKER, name)
    assert fake.events == []


async def test_an_invalid_own_key_prevents_the_whole_change(fake: FakeServices) -> None:
    change = Change(fake, changes(BROKER, "", (MOVEMENTS, SET, "x"), ("log.retention.ms", SET, "9")))
    assert change.asked_of_upstream == [(BROKER, "", [])]
    assert await change.rows(row(BROKER, "")) == [(40, "")]
    assert fake.events == []


async def test_an_upstream_error_prevents_the_change_of_own_keys(fake: FakeServices) -> None:
    change = Change(fake, changes(BROKER, "", (MOVEMENTS, SET, "7"), ("log.retention.ms", SET, "x")))
    assert await change.rows(row(BROKER, "", 40, "Invalid value x")) == [(40, "")]
    assert fake.events == []


async def test_rows_are_in_the_order_of_the_request(fake: FakeServices) -> None:
    change = Change(
        fake,
        changes(TOPIC, "b", ("retention.ms", SET, "1")),
        changes(BROKER, "", (MOVEMENTS, SET, "7")),
        changes(TOPIC, "a"),
    )
    assert change.asked_of_upstream == [(TOPIC, "b", ["retention.ms"]), (BROKER, "", []), (TOPIC, "a", [])]
    theirs = [row(BROKER, ""), row(TOPIC, "a", 3), row(TOPIC, "b")]
    assert await change.rows(*theirs) == [(0, "b"), (0, ""), (3, "a")]
    assert values(fake) == {MOVEMENTS: "7"}


async def test_own_keys_on_a_single_broker_are_refused_with_their_resource(fake: FakeServices) -> None:
    change = Change(fake, changes(BROKER, "1", (MOVEMENTS, SET, "7"), ("log.cleaner.threads", SET, "2")))
    assert change.asked_of_upstream == [(BROKER, "1", [])]
    answer = await change.answer(IncrementalAlterConfigsResponse(responses=[row(BROKER, "1")]))
    (refused,) = answer.responses
    assert (refused.error_code, refused.resource_name) == (40, "1")
    assert "is cluster-wide and cannot be set on broker 1: use --entity-default" in refused.error_message
    assert fake.events == []


async def test_an_unknown_operation_is_refused(fake: FakeServices) -> None:
    change = Change(fake, changes(BROKER, "", (MOVEMENTS, 9, "7")))
    assert await change.rows(row(BROKER, "")) == [(42, "")]


async def test_validate_only_changes_nothing(fake: FakeServices) -> None:
    change = Change(fake, changes(BROKER, "", (MOVEMENTS, SET, "7")), validate_only=True)
    assert decode_request(change.upstream).validate_only
    assert await change.rows(row(BROKER, "")) == [(0, "")]
    assert values(fake) == {}


@pytest.mark.parametrize(
    "resources",
    [
        [changes(BROKER, "1", ("log.retention.ms", SET, "9"))],
        [changes(BROKER, "", ("log.retention.ms", SET, "9"))],
        [changes(BROKER, "1", (MOVEMENTS, DELETE, None))],
        [changes(TOPIC, "foo", (MOVEMENTS, SET, "7"))],
        [changes(BROKER, "", (MOVEMENTS, SET, "7"))] * 2,
    ],
    ids=["a broker", "the default", "left on a broker", "a topic", "twice"],
)
def test_a_request_without_own_keys_is_relayed_unchanged(
    fake: FakeServices, resources: list[AlterConfigsResource]
) -> None:
    request = IncrementalAlterConfigsRequest(resources)
    assert incremental_alter(fake.services, fake.off_loop)(incoming(request, 1), client()) is PASSED


def replace(fake: FakeServices, *configs: tuple[str, str], name: str = "") -> Talk:
    resource = ReplacedResource(BROKER, name, [ReplacedConfig(*each) for each in configs])
    return Talk(alter(fake.services, fake.off_loop), AlterConfigsRequest([resource]), 2)


def sent(talk: Talk) -> list[list[str]]:
    return [[config.name for config in each.configs] for each in decode_request(talk.upstream).resources]


async def replaced(talk: Talk, *theirs: AlterConfigsResourceResponse) -> Any:
    answer = await talk.answer(AlterConfigsResponse(responses=theirs))  # type: ignore[arg-type]
    return [each.error_code for each in answer.responses]


async def test_a_replacement_deletes_own_keys_that_it_does_not_name(fake: FakeServices) -> None:
    fake.controller.put(Config(BROKER, "", LEADERS, "3"), Config(BROKER, "", "min.insync.replicas", "2"))
    talk = replace(fake, (MOVEMENTS, "7"), ("log.retention.ms", "9"))
    assert sent(talk) == [["log.retention.ms"]]
    assert await replaced(talk, row(BROKER, "")) == [0]
    assert values(fake) == {MOVEMENTS: "7", "min.insync.replicas": "2"}


async def test_an_invalid_own_key_prevents_the_replacement(fake: FakeServices) -> None:
    talk = replace(fake, (MOVEMENTS, "x"), ("log.retention.ms", "9"))
    assert sent(talk) == [[]]
    response = await talk.answer(IncrementalAlterConfigsResponse(responses=[row(BROKER, "")]))
    assert [each.error_code for each in response.responses] == [40]
    assert MOVEMENTS in response.responses[0].error_message


async def test_without_permission_the_error_of_an_own_key_is_not_revealed(fake: FakeServices) -> None:
    talk = replace(fake, (MOVEMENTS, "x"))
    response = await talk.answer(IncrementalAlterConfigsResponse(responses=[row(BROKER, "", 31, "not you")]))
    assert [each[:2] for each in response.responses] == [(31, DENIED)]


async def test_beside_another_resource_the_error_of_an_own_key_is_not_revealed(fake: FakeServices) -> None:
    ours = ReplacedResource(BROKER, "", [ReplacedConfig(MOVEMENTS, "x")])
    topic = ReplacedResource(TOPIC, "foo", [ReplacedConfig("retention.ms", "1")])
    talk = Talk(alter(fake.services, fake.off_loop), AlterConfigsRequest([ours, topic]), 2)
    response = await talk.answer(AlterConfigsResponse(responses=[row(TOPIC, "foo")]))  # type: ignore[list-item]
    assert [each.error_code for each in response.responses] == [40, 0]
    assert MOVEMENTS not in response.responses[0].error_message


async def test_own_keys_on_a_single_broker_are_refused_and_the_rest_is_altered(fake: FakeServices) -> None:
    one = ReplacedResource(BROKER, "1", [ReplacedConfig(MOVEMENTS, "7")])
    topic = ReplacedResource(TOPIC, "foo", [ReplacedConfig("retention.ms", "1")])
    talk = Talk(alter(fake.services, fake.off_loop), AlterConfigsRequest([one, topic]), 2)
    assert sent(talk) == [["retention.ms"]]
    assert await replaced(talk, row(TOPIC, "foo")) == [40, 0]
    assert fake.events == []


def test_a_replacement_without_own_keys_is_relayed_unchanged(fake: FakeServices) -> None:
    request = AlterConfigsRequest([ReplacedResource(BROKER, "1"), ReplacedResource(TOPIC, "foo")])
    assert alter(fake.services, fake.off_loop)(incoming(request, 2), client()) is PASSED


async def test_a_change_behind_a_login_has_its_principal(fake: FakeServices) -> None:
    who = client(authenticated=False)
    request = IncrementalAlterConfigsRequest([changes(BROKER, "", (MOVEMENTS, SET, "7"))], False)
    change = Talk(incremental_alter(fake.services, fake.off_loop), request, 1, who)
    who.caller = who.caller._replace(principal="User:alice")  # the broker's answer to the login comes first
    await change.answer(IncrementalAlterConfigsResponse(responses=[row(BROKER, "")]))
    assert [event.requester.principal for event in fake.events] == ["User:alice"]


async def test_a_change_without_a_name_is_refused_where_the_setting_says_so(fake: FakeServices) -> None:
    who = client()
    who.caller = who.caller._replace(principal="unknown (GSSAPI from 10.0.0.9)")
    request = IncrementalAlterConfigsRequest([changes(BROKER, "", (MOVEMENTS, SET, "7"))], False)
    services = fake.services
    named = services._replace(answer=only_named(services.answer, services.refuse))
    change = Talk(incremental_alter(named, fake.off_loop), request, 1, who)
    response = await change.answer(IncrementalAlterConfigsResponse(responses=[row(BROKER, "")]))
    assert [each.error_code for each in response.responses] == [31]
    assert fake.events == []
