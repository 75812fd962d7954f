"""`/v1/load`, of a stand-in for the sampler."""

from collections.abc import Sequence

import pytest

from controller.model.cluster import ResourceType
from controller.model.configs import LOAD_SAMPLING
from controller.model.load import LoadPage, LoadRow, LoadSort, LoadSummary, LoadUnit, Quality, Rates
from controller.state.settings import CLUSTER_DEFAULT
from tests.server.api.api_client import ApiClient

ROWS = [
    LoadRow(1, None, None, Rates(30, 10, 60, None, 20), Quality.EXACT, 1.0, 5, 60, 1_000, 0.25),
    LoadRow(2, None, None, Rates(), Quality.UNKNOWN, 0.0),
]


class FixedLoad:
    """Implements `controller.model.load.Loads`."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    def summary(self) -> LoadSummary:
        hours = [Rates(None)] * 23 + [Rates(60)]
        return LoadSummary(True, ("broker 2: late",), 1_000, 0.5, Rates(30), 23, hours)

    def by_broker(self) -> Sequence[LoadRow]:
        return ROWS

    def page(self, by: LoadUnit, sort: LoadSort, offset: int, limit: int) -> LoadPage:
        self.asked = [by, sort, offset, limit]
        return LoadPage(ROWS[offset : offset + limit], len(ROWS))

    def rates(self, topic: str, partition: int) -> Rates | None:
        return Rates(1.5, None, 2, 0, 1) if partition == 1 else None


def measured() -> tuple[ApiClient, FixedLoad]:
    client, load = ApiClient(), FixedLoad()
    client.serve(load=load)
    return client, load


async def test_brokers_are_listed_with_what_is_known_of_them() -> None:
    client, _ = measured()
    answer = await client.get("/v1/load")
    assert answer["rows"][0] == {
        "broker": 1,
        "topic": None,
        "partition": None,
        "rates": {"in": 30, "out": 10, "in_busy": 60, "out_busy": None, "in_mean": 20, "out_mean": None},
        "replication_in": 5,
        "replication_out": 60,
        "quality": "exact",
        "coverage": 1.0,
        "measured_ms": 1_000,
        "cpu": 0.25,
    }
    assert (answer["rows"][1]["quality"], answer["next"]) == ("unknown", None)


async def test_the_answer_says_how_old_it_is_and_what_is_missing() -> None:
    client, _ = measured()
    answer = await client.get("/v1/load")
    assert (answer["sampling"], answer["measured_ms"], answer["coverage"]) == (True, 1_000, 0.5)
    assert (answer["problems"], answer["busy_hour"], answer["hours"][23]["in"]) == (
        ["broker 2: late"],
        23,
        60,
    )


async def test_rows_are_paged_in_an_order() -> None:
    client, load = measured()
    answer = await client.get("/v1/load?by=partition&sort=busy&limit=1")
    assert load.asked == [LoadUnit.PARTITION, LoadSort.BUSY, 0, 1]
    assert (len(answer["rows"]), answer["total"], answer["next"]) == (1, 2, 1)


async def test_another_unit_is_refused_by_name() -> None:
    client, _ = measured()
    status, text = await client.refusal("GET", "/v1/load?by=rack")
    assert status == 400
    assert "by" in text


async def test_sampling_is_switched_on_and_off() -> None:
    client = ApiClient()
    assert (await client.get("/v1/load"))["sampling"] is False
    await client.post("/v1/load", {"sampling": True})
    assert LOAD_SAMPLING in str(client.controller.state.settings.configs)
    status, _ = await client.refusal("POST", "/v1/load", {"sampling": "yes"})
    assert status == 400


async def test_a_snapshot_has_the_loads_that_are_known() -> None:
    client, _ = measured()
    lines = (await client.raw("GET", "/v1/snapshot")).text.splitlines()
    assert lines[-2].endswith('"tiered":false,"in":1.5,"in_busy":2,"out_busy":0,"in_mean":1}')
    assert lines[-1].endswith('"tiered":false}')


@pytest.mark.parametrize(("setting", "left"), [("off", None), ("on", "off")])
async def test_off_leaves_a_config_only_where_the_settings_say_on(setting: str, left: str | None) -> None:
    client = ApiClient()
    client.controller.state.set_static_configs({LOAD_SAMPLING: setting})
    await client.post("/v1/load", {"sampling": True})
    await client.post("/v1/load", {"sampling": False})
    settings = client.controller.state.settings
    assert settings.dynamic_config(ResourceType.BROKER, CLUSTER_DEFAULT, LOAD_SAMPLING) == left


async def test_a_prometheus_is_set_and_taken_away() -> None:
    client = ApiClient()
    await client.post("/v1/load", {"prometheus": "http://there:9090", "prometheus_brokers": "a=1"})
    assert "http://there:9090" in str(client.controller.state.settings.configs)
    await client.post("/v1/load", {"prometheus": ""})
    assert "http://there:9090" not in str(client.controller.state.settings.configs)
    status, text = await client.refusal("POST", "/v1/load", {"prometheus": "there"})
    assert (status, "without a user" in text) == (400, True)


async def test_a_metrics_topic_is_set_and_taken_away() -> None:
    client = ApiClient()
    await client.post("/v1/load", {"metrics_topic": "__CruiseControlMetrics"})
    assert "__CruiseControlMetrics" in str(client.controller.state.settings.configs)
    await client.post("/v1/load", {"metrics_topic": ""})
    assert "__CruiseControlMetrics" not in str(client.controller.state.settings.configs)
    status, text = await client.refusal("POST", "/v1/load", {"metrics_topic": "no topic"})
    assert (status, "a topic name" in text) == (400, True)


async def test_a_change_of_nothing_is_refused() -> None:
    status, text = await ApiClient().refusal("POST", "/v1/load", {})
    assert status == 400
    assert "sampling, prometheus, prometheus_brokers, metrics_topic" in text
