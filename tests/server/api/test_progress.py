"""Progress in bytes. Partition n has 100 + n bytes."""

from controller.messages.job_events import AlterRow, AlterTopic, Queue, RollBackJob
from server.api.progress import INTERVAL_SECONDS, INTERVAL_SECONDS_PER_ROW, WINDOW_SECONDS, CopyRate
from tests.builders import InMemoryController, partition
from tests.server.api.api_client import MOVE, ApiClient, three_partitions


async def measure(client: ApiClient, seconds: float = 0.0) -> None:
    await client.clock.advance(seconds)
    await client.progress.measure()


async def test_progress_is_null_before_the_first_measurement() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    assert (await client.get("/v1/status"))["jobs"][0]["copied"] is None


async def test_received_bytes_of_adding_replicas_count() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    client.sizes.received_bytes = {("foo-0", 4): 30, ("foo-1", 6): 20}
    await measure(client)
    status = await client.get("/v1/status")
    assert status["jobs"][0]["copied"] == {"bytes": 50, "total": 603, "rate": None, "seconds_left": None}
    rows = [(row["broker"], row["bytes"], row["total"]) for row in status["incoming"]]
    assert rows == [(4, 30, 201), (5, 0, 201), (6, 20, 201)]


async def test_a_rate_is_the_mean_of_ten_seconds_or_more() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    for second in range(int(WINDOW_SECONDS) + 1):
        client.sizes.received_bytes = {("foo-0", 4): 5 * second}
        await measure(client, second and 1.0)
    copied = (await client.get("/v1/jobs/1"))["job"]["copied"]
    assert copied == {"bytes": 50, "total": 603, "rate": 5, "seconds_left": 111}
    assert (await client.get("/v1/status"))["incoming"][0]["rate"] == 5


async def test_ended_and_queued_partitions_count() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", MOVE)
    client.controller.catch_up()
    await measure(client)
    progress = client.progress
    assert progress.of_job(1) == CopyRate(300, 603, None)
    client.controller.do(Queue([AlterTopic("foo", [AlterRow(1, (4, 2, 3)), AlterRow(2, (6, 2, 3))])]))
    await measure(client)
    assert (progress.of_job(1), progress.of_job(2)) == (CopyRate(300, 300, None), CopyRate(0, 203, None))


async def test_completed_steps_count() -> None:
    client = ApiClient(three_partitions(per_partition=1))
    await client.post("/v1/jobs", MOVE)
    client.controller.catch_up()
    await measure(client)
    assert client.progress.of_job(1) == CopyRate(201, 603, None)


async def test_a_rollback_counts_the_bytes_that_it_restores() -> None:
    client = ApiClient(three_partitions(per_partition=1))
    await client.post("/v1/jobs", MOVE)
    for _ in range(3):
        client.controller.catch_up()
    client.controller.do(RollBackJob(1))
    await measure(client)
    progress = client.progress
    before = progress.of_job(2)
    client.controller.catch_up()
    await measure(client, 1.0)
    after = progress.of_job(2)
    assert before is not None
    assert after is not None
    assert (before.moved, after.total) == (0, before.total)
    assert after.moved > 0


async def test_a_job_without_anything_to_copy_has_no_progress() -> None:
    client = ApiClient(InMemoryController().with_partitions(partition("unknown-0", [1])))
    await client.post("/v1/jobs", {"partitions": [{"topic": "unknown", "partition": 0, "replicas": [2]}]})
    await measure(client)
    status = await client.get("/v1/status")
    assert (status["jobs"][0]["copied"], status["incoming"]) == (None, [])


async def test_an_ended_job_counts_for_rates_within_the_window() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", {"partitions": MOVE["partitions"][:1]})
    await measure(client)
    await client.post("/v1/jobs", {"partitions": MOVE["partitions"][1:]})
    client.controller.catch_up()
    await measure(client, WINDOW_SECONDS)
    incoming = (await client.get("/v1/status"))["incoming"]
    assert [row["rate"] for row in incoming] == [10, 10, 10]


def test_a_million_rows_are_measured_rarely() -> None:
    assert 1_000_000 * INTERVAL_SECONDS_PER_ROW > 20 * INTERVAL_SECONDS


def test_the_time_left_follows_from_the_rate() -> None:
    assert [
        CopyRate(5, 5, None).seconds_left,
        CopyRate(0, 5, 0).seconds_left,
        CopyRate(0, 5, 2).seconds_left,
    ] == [
        0,
        None,
        3,
    ]
