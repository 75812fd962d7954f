"""Progress by bytes; every partition of these has 100 bytes and its number."""

from controller.messages.job_events import AlterRow, AlterTopic, Queue, RollBackJob
from server.api.progress import INTERVAL_SECONDS, INTERVAL_SECONDS_PER_ROW, WINDOW_SECONDS, CopyRate
from tests.builders import World, partition
from tests.server.api.desk import MOVE, Desk, three


async def measure(desk: Desk, seconds: float = 0.0) -> None:
    await desk.clock.advance(seconds)
    await desk.progress.measure()


async def test_nothing_is_known_before_the_first_look() -> None:
    desk = Desk()
    await desk.post("/v1/jobs", MOVE)
    assert (await desk.get("/v1/status"))["jobs"][0]["copied"] is None


async def test_what_has_arrived_counts_while_it_is_under_way() -> None:
    desk = Desk()
    await desk.post("/v1/jobs", MOVE)
    desk.sizes.have = {("foo-0", 4): 30, ("foo-1", 6): 20}
    await measure(desk)
    status = await desk.get("/v1/status")
    assert status["jobs"][0]["copied"] == {"bytes": 50, "total": 603, "rate": None, "seconds_left": None}
    rows = [(row["broker"], row["bytes"], row["total"]) for row in status["incoming"]]
    assert rows == [(4, 30, 201), (5, 0, 201), (6, 20, 201)]


async def test_a_rate_is_the_mean_of_ten_seconds_or_more() -> None:
    desk = Desk()
    await desk.post("/v1/jobs", MOVE)
    for second in range(int(WINDOW_SECONDS) + 1):
        desk.sizes.have = {("foo-0", 4): 5 * second}
        await measure(desk, second and 1.0)
    copied = (await desk.get("/v1/jobs/1"))["job"]["copied"]
    assert copied == {"bytes": 50, "total": 603, "rate": 5, "seconds_left": 111}
    assert (await desk.get("/v1/status"))["incoming"][0]["rate"] == 5


async def test_what_is_done_and_what_is_queued_count() -> None:
    desk = Desk(three(partitions=1))
    await desk.post("/v1/jobs", MOVE)
    desk.world.catch_up()
    await measure(desk)
    progress = desk.progress
    assert progress.of_job(1) == CopyRate(300, 603, None)
    desk.world.do(Queue([AlterTopic("foo", [AlterRow(1, (4, 2, 3)), AlterRow(2, (6, 2, 3))])]))
    await measure(desk)
    assert (progress.of_job(1), progress.of_job(2)) == (CopyRate(300, 300, None), CopyRate(0, 203, None))


async def test_steps_that_are_complete_count() -> None:
    desk = Desk(three(per_partition=1))
    await desk.post("/v1/jobs", MOVE)
    desk.world.catch_up()
    await measure(desk)
    assert desk.progress.of_job(1) == CopyRate(201, 603, None)


async def test_a_rollback_counts_what_it_brings_back() -> None:
    desk = Desk(three(per_partition=1))
    await desk.post("/v1/jobs", MOVE)
    for _ in range(3):
        desk.world.catch_up()
    desk.world.do(RollBackJob(1))
    await measure(desk)
    progress = desk.progress
    before = progress.of_job(2)
    desk.world.catch_up()
    await measure(desk, 1.0)
    after = progress.of_job(2)
    assert before is not None
    assert after is not None
    assert (before.moved, after.total) == (0, before.total)
    assert after.moved > 0


async def test_a_job_without_anything_to_copy_has_no_progress() -> None:
    desk = Desk(World().having(partition("unknown-0", [1])))
    await desk.post("/v1/jobs", {"partitions": [{"topic": "unknown", "partition": 0, "replicas": [2]}]})
    await measure(desk)
    status = await desk.get("/v1/status")
    assert (status["jobs"][0]["copied"], status["incoming"]) == (None, [])


async def test_an_ended_job_counts_for_the_rate_until_the_window_has_passed() -> None:
    desk = Desk(three(partitions=1))
    await desk.post("/v1/jobs", {"partitions": MOVE["partitions"][:1]})
    await measure(desk)
    await desk.post("/v1/jobs", {"partitions": MOVE["partitions"][1:]})
    desk.world.catch_up()
    await measure(desk, WINDOW_SECONDS)
    incoming = (await desk.get("/v1/status"))["incoming"]
    assert [row["rate"] for row in incoming] == [10, 10, 10]


def test_a_look_at_a_million_is_rare() -> None:
    assert 1_000_000 * INTERVAL_SECONDS_PER_ROW > 20 * INTERVAL_SECONDS


def test_nothing_left_takes_no_time_and_nothing_moving_says_nothing() -> None:
    assert [
        CopyRate(5, 5, None).seconds_left,
        CopyRate(0, 5, 0).seconds_left,
        CopyRate(0, 5, 2).seconds_left,
    ] == [
        0,
        None,
        3,
    ]
