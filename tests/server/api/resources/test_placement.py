"""`/v1/placement`."""

import httpx
import pytest

from controller.gateway.events import ThrottleRead
from controller.messages.events import AlterConfigs
from controller.model.configs import CORDONED_LOG_DIRS, ResourceType, ThrottleLease
from controller.modes import GATEWAY
from server.api.shared import cordons
from tests.server.api.api_client import ApiClient


async def test_brokers_are_excluded_and_allowed_again() -> None:
    client = ApiClient()
    client.controller.stop(2)
    shown = await client.get("/v1/placement")
    assert shown["brokers"][1] == {"id": 2, "rack": "rack-2", "live": False}
    assert (await client.post("/v1/placement", {"exclude": [4, 2]}))["excluded"] == [2, 4]
    assert (await client.post("/v1/placement", {"exclude": [1], "allow": [4, 5]}))["excluded"] == [1, 2]
    assert (await client.get("/v1/status"))["brokers"]["excluded"] == [1, 2]


async def test_a_change_names_its_client() -> None:
    client = ApiClient()
    await client.post("/v1/placement", {"exclude": [1]})
    [event] = client.driver.events
    assert isinstance(event, AlterConfigs)
    assert event.requester.client_id == f"python-httpx/{httpx.__version__}"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"exclude": [9]}, (404, "There is no broker 9.")),
        ({"exclude": [1], "allow": [1]}, (400, "broker 1 is in both lists")),
        ({"exclude": [-1]}, (404, "There is no broker -1.")),
    ],
)
async def test_bad_changes_are_refused(body: object, error: tuple[int, str]) -> None:
    client = ApiClient()
    assert await client.refusal("POST", "/v1/placement", body) == error
    assert (await client.get("/v1/placement"))["excluded"] == []


def gateway() -> ApiClient:
    """A gateway whose broker 1 has two directories."""
    client = ApiClient()
    client.controller.state.mode = GATEWAY
    client.sizes.log_dirs = {1: {"/a": [], "/b": []}}
    return client


def read_configs(client: ApiClient, cordoned: str) -> None:
    """Let the gateway read that others have cordoned these directories of broker 1."""
    client.controller.do(ThrottleRead({(ResourceType.BROKER, "1"): {CORDONED_LOG_DIRS: cordoned}}, {}))


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cordons, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(cordons, "PAUSE_SECONDS", 0.001)


async def test_a_gateway_cordons_and_says_nothing_when_kafka_follows() -> None:
    client = gateway()
    client.sizes.cordoned = {"/a", "/b"}
    answer = await client.post("/v1/placement", {"exclude": [1]})
    assert (answer["excluded"], answer["notes"]) == ([1], [])
    status = (await client.get("/v1/status"))["brokers"]
    assert (status["excluded"], status["placed_by"]) == ([1], "kafka")
    client.sizes.cordoned = set()
    answer = await client.post("/v1/placement", {"allow": [1]})
    assert (answer["excluded"], answer["notes"]) == ([], [])


async def test_a_broker_that_kafka_does_not_cordon_is_named() -> None:
    client = gateway()
    client.sizes.cordoned = {"/a"}
    [unread] = (await client.post("/v1/placement", {"exclude": [1]}))["notes"]
    assert unread.startswith("broker 1 is not cordoned, its configs cannot be read or altered (see the log):")
    read_configs(client, "/a")
    [others] = (await client.post("/v1/placement", {"exclude": [1]}))["notes"]
    assert others == (
        "broker 1 is not cordoned, others have set its cordoned.log.dirs: it can get new partitions until it"
        " is stopped"
    )
    lease = ThrottleLease(ResourceType.BROKER, "1", CORDONED_LOG_DIRS, "*", None)
    client.controller.put(lease)
    [without_effect] = (await client.post("/v1/placement", {"exclude": [1]}))["notes"]
    assert "Kafka has accepted cordoned.log.dirs without effect" in without_effect
    client.controller.state.gateway.refuse_cordon(1, "it is older than Kafka 4.3")
    [refused] = (await client.post("/v1/placement", {"exclude": [1]}))["notes"]
    assert refused.startswith("broker 1 is not cordoned, Kafka refuses it (it is older than")


async def test_a_broker_that_stays_cordoned_is_named() -> None:
    client = gateway()
    client.sizes.cordoned = {"/a", "/b"}
    await client.post("/v1/placement", {"exclude": [1]})
    [note] = (await client.post("/v1/placement", {"allow": [1]}))["notes"]
    assert note == "broker 1 is still cordoned: others have set cordoned.log.dirs, or Kafka is slow"


async def test_a_broker_that_does_not_answer_is_named_and_an_offline_one_not_awaited() -> None:
    client = gateway()
    [note] = (await client.post("/v1/placement", {"exclude": [2]}))["notes"]
    assert note == "broker 2 does not report whether it is cordoned"
    client.controller.state.cluster.live.discard(3)
    assert (await client.post("/v1/placement", {"exclude": [3]}))["notes"] == []


# ---- directories ------------------------------------------------------------------------------------------

COMMA = "a directory whose path has a comma cannot be excluded"
KNOWN = "exclude, allow, exclude_dirs, allow_dirs"
A, B = ({"broker": 1, "dir": path} for path in ("/a", "/b"))


async def test_directories_are_excluded_and_allowed_again() -> None:
    client = gateway()
    client.sizes.cordoned = {"/a"}
    answer = await client.post("/v1/placement", {"exclude_dirs": [A]})
    assert (answer["excluded_dirs"], answer["notes"]) == ([A], [])
    client.sizes.cordoned = set()
    answer = await client.post("/v1/placement", {"allow_dirs": [A]})
    assert (answer["excluded_dirs"], answer["notes"]) == ([], [])


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"exclude_dirs": [{"broker": 9, "dir": "/a"}]}, (404, "There is no broker 9.")),
        ({"exclude_dirs": [A], "allow_dirs": [A]}, (400, "1:/a is in both lists")),
        ({"exclude_dirs": [{"broker": 1, "dir": "/a,b"}]}, (400, f"1:/a,b: {COMMA}")),
        ({"exclude": [1], "exclude_dirs": [{"broker": 1, "dir": "/a,2:/b"}]}, (400, f"1:/a,2:/b: {COMMA}")),
        ({"excluded": [1]}, (400, f'the body has the unknown key "excluded"; known: {KNOWN}')),
    ],
)
async def test_bad_directories_are_refused(body: object, error: tuple[int, str]) -> None:
    client = gateway()
    assert await client.refusal("POST", "/v1/placement", body) == error
    shown = await client.get("/v1/placement")
    assert (shown["excluded"], shown["excluded_dirs"]) == ([], [])


async def test_a_directory_that_kafka_does_not_cordon_is_named() -> None:
    client = gateway()
    client.sizes.cordoned = {"/b"}
    await client.post("/v1/placement", {"exclude_dirs": [A, B]})
    read_configs(client, "/a,/b")
    [others] = (await client.post("/v1/placement", {"exclude_dirs": [A, B]}))["notes"]
    assert others == (
        "/a of broker 1 is not cordoned, others have set its cordoned.log.dirs: it can get new replicas until"
        " it is removed"
    )
    client.controller.put(ThrottleLease(ResourceType.BROKER, "1", CORDONED_LOG_DIRS, "/a,/b", None))
    [without_effect] = (await client.post("/v1/placement", {"exclude_dirs": [A]}))["notes"]
    assert "/a of broker 1 is not cordoned, Kafka has accepted cordoned.log.dirs without" in without_effect
    client.controller.state.gateway.refuse_cordon(1, "it is older than Kafka 4.3")
    [refused] = (await client.post("/v1/placement", {"exclude_dirs": [A]}))["notes"]
    assert refused.startswith("/a of broker 1 is not cordoned, Kafka refuses it (it is older than Kafka 4.3)")


async def test_a_directory_that_others_cordon_too_is_named() -> None:
    client = gateway()
    client.sizes.cordoned = {"/a"}
    await client.post("/v1/placement", {"exclude_dirs": [A]})
    [note] = (await client.post("/v1/placement", {"allow_dirs": [A]}))["notes"]
    assert note == "/a of broker 1 is still cordoned: others have set cordoned.log.dirs, or Kafka is slow"


async def test_before_brokers_of_zookeeper_nothing_is_excluded() -> None:
    client = ApiClient()
    answer = await client.post("/v1/placement", {"exclude_dirs": [A, B]})
    assert answer["excluded_dirs"] == []
    [note] = answer["notes"]
    assert note.startswith("/a, /b of broker 1 is not cordoned, its Kafka is older than 4.3: it can get new")
