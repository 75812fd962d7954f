"""`/v1/disk-moves`, and how jobs of moves between log directories are shown, cancelled and rolled back."""

import csv
from collections.abc import Sequence
from io import StringIO
from typing import Any

import pytest

from controller.messages.disk_events import DisksSeen, SeenBroker, SeenDir, SeenLog
from controller.model.disks import BrokerReplica, MoveStage
from controller.model.replicas import TopicPartition
from controller.modes import GATEWAY
from controller.state.disks import Received
from reassignd.commands.status import lines
from server.api.shared import cordons
from tests.builders import key, partition
from tests.server.api.api_client import ApiClient

A, B = "/a", "/b"
NAMES = ("foo-0", "foo-1", "foo-2")


@pytest.fixture
def client() -> ApiClient:
    """Three partitions on brokers 1 to 3, all in /a."""
    client = ApiClient()
    client.sizes.log_dirs = {broker: {A: list(NAMES), B: []} for broker in (1, 2, 3)}
    return client


def move(name: str = "foo-0", broker: int = 1, target: str = B, **fields: Any) -> dict[str, Any]:
    topic, partition = key(name)
    return {"topic": topic, "partition": partition, "broker": broker, "target": target, **fields}


def key_on(broker: int, name: str = "foo-0") -> BrokerReplica:
    return BrokerReplica(*key(name), broker)


def moves(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"moves": list(rows)}


def look(client: ApiClient, *arrived: str, copied: int | None = None) -> None:
    """Look at broker 1: these replicas are in /b; the others are in /a, and have a copy in /b."""
    names: Sequence[TopicPartition] = list(map(key, NAMES))
    logs = {name: SeenLog(B if str(name) in arrived else A, 100) for name in names}
    futures = {} if copied is None else {name: SeenLog(B, copied) for name in names if logs[name].path == A}
    disks = client.controller.state.disks
    looked = [replica for replica in disks.open if replica.broker == 1]
    client.controller.do(DisksSeen({1: looked}, {1: SeenBroker({A: SeenDir(), B: SeenDir()}, logs, futures)}))


async def test_moves_are_a_job(client: ApiClient) -> None:
    status, answer = await client.ask("POST", "/v1/disk-moves", moves(move(), move("foo-1", 2)))
    assert (status, answer) == (202, {"job": 1, "accepted": 2, "notes": []})
    [job] = (await client.get("/v1/jobs"))["jobs"]
    assert (job["kind"], job["total"], job["queued"], job["done"]) == ("disks", 2, 2, 0)


@pytest.mark.parametrize(
    ("row", "status", "text"),
    [
        (move(broker=9), 422, "broker 9 is not in the cluster"),
        (move(broker=4), 503, "broker 4 does not report its log directories"),
        (move("foo-7"), 422, "not in any log directory: foo-7 on broker 1"),
        (move(source="/c"), 409, "foo-0 on broker 1 is in /a, not in /c; propose again"),
        (move(target=A), 422, "foo-0 on broker 1: it is to stay in /a"),
    ],
)
async def test_a_move_that_cannot_be_is_named(
    client: ApiClient, row: dict[str, Any], status: int, text: str
) -> None:
    assert await client.refusal("POST", "/v1/disk-moves", moves(row)) == (status, text)
    assert client.controller.state.orders.jobs == {}


async def test_the_strip_of_a_job_has_a_cell_for_each_replica(client: ApiClient) -> None:
    await client.post("/v1/disk-moves", moves(move(), move("foo-1"), move(broker=2)))
    look(client)
    strip = await client.get("/v1/jobs/1/strip")
    assert (strip["total"], strip["states"]) == (3, ["moving", "queued"])
    cells = [(each["topic"], each["partition"], each["broker"], each["counts"]) for each in strip["cells"]]
    assert cells == [("foo", 0, 1, [1, 0]), ("foo", 0, 2, [0, 1]), ("foo", 1, 1, [0, 1])]


async def test_the_strip_shows_a_copy_that_receives_nothing_as_stalled(client: ApiClient) -> None:
    await client.post("/v1/disk-moves", moves(move()))
    look(client)
    look(client, copied=10)
    client.controller.state.disks.received[key_on(1)] = Received(10, 0)
    strip = await client.get("/v1/jobs/1/strip")
    assert (strip["states"], strip["cells"][0]["counts"]) == (["stalled"], [1])


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("queue=true", "Moves between log directories have no queue, append, elect and until_ms."),
        ("limits=P%3D2", "limits: of moves between log directories there is only B"),
    ],
)
async def test_options_of_plans_are_refused(client: ApiClient, query: str, text: str) -> None:
    assert await client.refusal("POST", f"/v1/disk-moves?{query}", moves(move())) == (400, text)


async def test_the_status_counts_what_is_left(client: ApiClient) -> None:
    await client.post("/v1/disk-moves", moves(move("foo-0"), move("foo-1")))
    look(client, "foo-0")
    status = await client.get("/v1/status")
    assert (status["reassignments"]["directories"], status["reassignments"]["ongoing"]) == (1, 0)
    assert "Moves     none, 1 replica between directories" in lines(status)


async def test_a_job_has_a_limit_a_throttle_and_a_pause(client: ApiClient) -> None:
    await client.post("/v1/disk-moves?limits=B%3D2&throttle=9&paused=true&priority=3", moves(move()))
    job = client.controller.state.orders.jobs[1]
    assert (job.limits.per_broker, job.throttle, job.paused, job.priority) == (2, 9, True, 3)


async def test_only_limit_b_of_a_job_of_moves_can_be_changed(client: ApiClient) -> None:
    await client.post("/v1/disk-moves", moves(move()))
    assert (await client.post("/v1/jobs/1/limits", {"B": 3}))["limits"][0]["limit"] == 3
    refused = await client.refusal("POST", "/v1/jobs/1/limits", {"B": 3, "P": 2})
    assert refused == (400, "limits: of moves between log directories there is only B")


async def test_the_moves_of_a_job_have_their_directories_and_bytes(client: ApiClient) -> None:
    await client.post("/v1/disk-moves", moves(move("foo-0"), move("foo-1"), move("foo-2")))
    look(client, copied=None)
    look(client, copied=40)
    answer = await client.get("/v1/jobs/1")
    first = answer["partitions"][0]
    assert first["move"] == {"broker": 1, "source": A, "target": B}
    assert (first["state"], first["bytes"], first["copied"]) == ("moving", 100, 40)


async def test_moves_are_filtered_and_sorted(client: ApiClient) -> None:
    await client.post("/v1/disk-moves", moves(*(move(name) for name in NAMES), move("foo-1", 2)))
    look(client, "foo-2")
    by_state = await client.get("/v1/jobs/1?state=done")
    assert [(row["partition"], row["state"]) for row in by_state["partitions"]] == [(2, "done")]
    of_broker = await client.get("/v1/jobs/1?broker=2&sort=partition")
    assert (of_broker["matching"], of_broker["partitions"][0]["move"]["broker"]) == (1, 2)


async def test_the_reasons_of_moves_that_do_not_start_are_counted(client: ApiClient) -> None:
    await client.post("/v1/disk-moves?paused=true", moves(move("foo-0"), move("foo-1")))
    answer = await client.get("/v1/jobs/1")
    assert answer["reasons"] == [{"reason": "job 1 is paused", "partitions": 2}]


async def test_a_cancel_of_the_job_cancels_its_moves(client: ApiClient) -> None:
    await client.post("/v1/disk-moves", moves(move("foo-0"), move("foo-1")))
    look(client)
    answer = await client.post("/v1/reassignments/cancel", {"job": 1})
    assert (answer["cancelled"], answer["moves"]) == (0, 2)
    look(client)
    job = (await client.get("/v1/jobs/1"))["job"]
    assert (job["state"], job["outcome"]) == ("ended", "rolled back")


async def test_a_cancel_of_everything_cancels_moves_too(client: ApiClient) -> None:
    await client.post("/v1/disk-moves", moves(move()))
    assert (await client.post("/v1/reassignments/cancel", {"all": True}))["moves"] == 1


async def test_a_cancel_of_a_topic_cancels_its_moves(client: ApiClient) -> None:
    await client.post("/v1/disk-moves", moves(move("foo-0"), move("foo-1")))
    answer = await client.post("/v1/reassignments/cancel", {"topic": "foo"})
    assert (answer["cancelled"], answer["moves"]) == (0, 2)
    assert (await client.get("/v1/jobs/1"))["job"]["outcome"] == "rolled back"


async def test_a_rollback_is_told_before_and_moves_back(client: ApiClient) -> None:
    await client.post("/v1/disk-moves", moves(move("foo-0"), move("foo-1")))
    look(client, "foo-0")
    preview = await client.get("/v1/jobs/1/rollback")
    assert (preview["partitions"], preview["bytes"], preview["unmoved"], preview["unchanged"]) == (
        2,
        100,
        0,
        0,
    )
    answer = await client.post("/v1/jobs/1/rollback")
    assert (answer["job"], answer["cancelled"], answer["skipped"]) == (2, 1, [])
    [row] = (await client.get("/v1/jobs/2"))["partitions"]
    assert row["move"] == {"broker": 1, "source": B, "target": A}


async def test_the_rollback_file_of_a_job_of_moves_names_the_directories_before_it(client: ApiClient) -> None:
    await client.post("/v1/disk-moves", moves(move("foo-1", 2), move("foo-0"), move("foo-1")))
    look(client, "foo-0")
    plan = await client.get("/v1/jobs/1/rollback.json")
    assert plan == {
        "version": 1,
        "partitions": [
            {"topic": "foo", "partition": 1, "replicas": [1, 2, 3], "log_dirs": [A, A, "any"]},
            {"topic": "foo", "partition": 0, "replicas": [1, 2, 3], "log_dirs": [A, "any", "any"]},
        ],
    }


async def test_the_rollback_file_leaves_out_what_others_have_moved_or_deleted(client: ApiClient) -> None:
    await client.post("/v1/disk-moves", moves(move("foo-0"), move("foo-1"), move("foo-2")))
    client.controller.put(partition("foo-0", [2, 3]))
    disks = client.controller.state.disks
    for taken in [each for each in disks.moves[1].values() if each.partition == 1]:
        client.controller.put(taken._replace(stage=MoveStage.TAKEN))
    rows = (await client.get("/v1/jobs/1/rollback.json"))["partitions"]
    assert [row["partition"] for row in rows] == [2]


async def test_the_csv_of_a_job_of_moves_has_their_directories(client: ApiClient) -> None:
    await client.post("/v1/disk-moves", moves(move()))
    answer = await client.raw("GET", "/v1/jobs/1/partitions.csv")
    [row] = csv.DictReader(StringIO(answer.text))
    assert (row["move_broker"], row["move_source"], row["move_target"]) == ("1", A, B)


async def test_the_history_of_a_job_of_moves_has_its_bytes(client: ApiClient) -> None:
    await client.post("/v1/disk-moves", moves(move()))
    for copied in (0, 20, 50):
        look(client, copied=copied)
        await client.clock.advance(1)
        await client.progress.measure()
    assert sum(sample.copied for sample in client.progress.history.samples(1)) == 50


# ---- directories that are emptied -------------------------------------------------------------------------


@pytest.fixture
def emptying(client: ApiClient, monkeypatch: pytest.MonkeyPatch) -> ApiClient:
    """A gateway that does not wait for Kafka."""
    client.controller.state.mode = GATEWAY
    monkeypatch.setattr(cordons, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(cordons, "PAUSE_SECONDS", 0.001)
    return client


def emptied(path: str = A) -> dict[str, Any]:
    return moves(move()) | {"emptied": [{"broker": 1, "dir": path}]}


async def test_what_is_emptied_is_cordoned(emptying: ApiClient) -> None:
    emptying.sizes.cordoned = {A}
    assert (await emptying.post("/v1/disk-moves", emptied()))["notes"] == []
    assert (await emptying.get("/v1/placement"))["excluded_dirs"] == [{"broker": 1, "dir": A}]


async def test_a_kafka_that_does_not_cordon_it_is_named(emptying: ApiClient) -> None:
    answer = await emptying.post("/v1/disk-moves", emptied())
    assert answer["job"] == 1
    [note] = answer["notes"]
    assert note.startswith("/a of broker 1 is not cordoned, ")


async def test_a_path_that_the_list_cannot_have_is_named(emptying: ApiClient) -> None:
    [note] = (await emptying.post("/v1/disk-moves", emptied("/a,b")))["notes"]
    assert "/a,b of broker 1 is not cordoned, reassignment.excluded.dirs has no room for it" in note


async def test_brokers_of_zookeeper_cannot_be_cordoned(client: ApiClient) -> None:
    [note] = (await client.post("/v1/disk-moves", emptied()))["notes"]
    assert note.startswith("/a of broker 1 is not cordoned, its Kafka is older than 4.3: it can get new repl")
    assert client.controller.state.settings.excluded_dirs == {}
