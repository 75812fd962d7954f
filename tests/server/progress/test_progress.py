"""Progress in bytes. Partition n has 100 + n bytes."""

from functools import partial

import pytest

from controller.messages.events import DeleteTopics
from controller.messages.job_events import AlterRow, AlterTopic, Queue, RollBackJob
from controller.model.configs import SCHEDULE, THROTTLE
from server.progress.measurement import Remembered
from server.progress.progress import CopyRate, Progress, pause_after
from server.progress.rates import SAMPLE_SECONDS, WINDOW_SECONDS
from tests.builders import InMemoryController, partition
from tests.server.api.api_client import MOVE, ApiClient, plan, three_partitions


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


async def copy(client: ApiClient, seconds: int, rate: int, brokers: tuple[int, ...] = (4,)) -> None:
    """Let foo-0 receive `rate` bytes per second at each broker, with a measurement each second."""
    for _ in range(seconds):
        for broker in brokers:
            have = client.sizes.received_bytes.get(("foo-0", broker), 0)
            client.sizes.received_bytes["foo-0", broker] = have + rate
        await measure(client, 1.0)


async def test_a_rate_is_the_mean_of_ten_seconds_or_more() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", MOVE)
    await measure(client)
    await copy(client, 9, 5, (4, 5, 6))
    assert (await client.get("/v1/jobs/1"))["job"]["copied"]["rate"] is None
    await copy(client, 1, 5, (4, 5, 6))
    copied = (await client.get("/v1/jobs/1"))["job"]["copied"]
    assert copied == {"bytes": 150, "total": 603, "rate": 15, "seconds_left": 31}
    assert (await client.get("/v1/status"))["incoming"][0]["rate"] == 5


async def test_rates_follow_the_times_at_which_replicas_were_measured() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", MOVE)
    rates = []
    for second in range(60):
        measured = second - second % 6
        client.sizes.measured = partial(float, measured)
        client.sizes.received_bytes["foo-0", 4] = measured
        await measure(client, 1.0)
        rates.append((await client.get("/v1/status"))["incoming"][0]["rate"])
    assert rates == [None] * 12 + [1] * 48


async def test_time_before_the_first_measurement_of_replicas_does_not_count_for_rates() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", MOVE)
    client.sizes.measured = lambda: None
    await copy(client, 30, 0)
    client.sizes.received_bytes["foo-0", 4] = 40
    client.sizes.measured = client.clock.now
    await copy(client, 1, 0)
    await copy(client, 10, 5)
    assert (await client.get("/v1/status"))["incoming"][0]["rate"] == 5


async def test_time_before_a_job_does_not_count_for_rates() -> None:
    client = ApiClient()
    await copy(client, 30, 0)
    await client.post("/v1/jobs", MOVE)
    await measure(client, 1.0)
    await copy(client, 9, 5)
    status = await client.get("/v1/status")
    assert [(row["rate"], row["seconds_left"]) for row in status["incoming"]] == [(None, None)] * 3
    assert status["jobs"][0]["copied"]["rate"] is None
    await copy(client, 1, 5)
    status = await client.get("/v1/status")
    assert (status["incoming"][0]["rate"], status["jobs"][0]["copied"]["rate"]) == (5, 5)


async def test_a_paused_job_has_no_time_left_and_no_rate_once_its_steps_have_ended() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", MOVE)
    await measure(client)
    await copy(client, 10, 5)
    await client.post("/v1/pause")
    status = await client.get("/v1/status")
    assert (status["incoming"][0]["rate"], status["incoming"][0]["seconds_left"]) == (5, None)
    assert (status["jobs"][0]["copied"]["rate"], status["jobs"][0]["copied"]["seconds_left"]) == (5, None)
    client.controller.catch_up()
    await measure(client, 1.0)
    status = await client.get("/v1/status")
    assert (status["incoming"][0]["rate"], status["jobs"][0]["copied"]["rate"]) == (None, None)


async def test_a_pause_does_not_count_for_the_rate_after_it() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", MOVE)
    await measure(client)
    await copy(client, 10, 5)
    await client.post("/v1/jobs/1/pause")
    client.controller.catch_up()
    await copy(client, 30, 0)
    await client.post("/v1/jobs/1/resume")
    client.sizes.received_bytes.clear()
    for second in range(11):
        client.sizes.received_bytes = {("foo-1", 5): 6 * second}
        await measure(client, 1.0)
    status = await client.get("/v1/status")
    assert (status["jobs"][0]["copied"]["rate"], status["incoming"][1]["rate"]) == (6, 6)


async def test_a_job_takes_as_long_as_its_slowest_broker() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", plan(foo_0=[4, 5, 6]))
    await measure(client)
    for second in range(1, 11):
        client.sizes.received_bytes["foo-0", 6] = second
        await copy(client, 1, 8, (4, 5))
    status = await client.get("/v1/status")
    assert [row["seconds_left"] for row in status["incoming"]] == [3, 3, 90]
    assert status["jobs"][0]["copied"]["seconds_left"] == 90


async def test_a_broker_that_receives_nothing_leaves_the_time_left_unknown() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", plan(foo_0=[4, 5, 3]))
    await measure(client)
    await copy(client, 10, 5)
    status = await client.get("/v1/status")
    assert [row["seconds_left"] for row in status["incoming"]] == [10, None]
    assert status["jobs"][0]["copied"]["seconds_left"] is None


async def test_brokers_whose_steps_wait_for_a_turn_take_as_long_as_the_job() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", plan(foo_0=[4, 2, 3], foo_1=[5, 2, 3], foo_2=[6, 2, 3]))
    await measure(client)
    await copy(client, 10, 5)
    status = await client.get("/v1/status")
    assert [row["seconds_left"] for row in status["incoming"]] == [10, 51, 51]
    assert status["jobs"][0]["copied"]["seconds_left"] == 51


async def test_partitions_that_cannot_start_leave_the_time_left_unknown() -> None:
    client = ApiClient()
    client.controller.stop(6)
    await client.post("/v1/jobs", plan(foo_0=[4, 5, 1], foo_1=[1, 2, 6]))
    await measure(client)
    await copy(client, 10, 5, (4, 5))
    status = await client.get("/v1/status")
    assert (status["jobs"][0]["copied"]["rate"], status["jobs"][0]["copied"]["seconds_left"]) == (10, None)
    assert [row["seconds_left"] for row in status["incoming"]] == [10, 10, None]


async def test_a_broker_that_is_down_leaves_the_time_left_unknown_at_once() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", plan(foo_0=[4, 5, 3]))
    await measure(client)
    await copy(client, 10, 5, (4, 5))
    client.controller.stop(5)
    status = await client.get("/v1/status")
    assert [row["seconds_left"] for row in status["incoming"]] == [10, None]
    assert status["jobs"][0]["copied"]["seconds_left"] is None


async def test_ended_and_queued_partitions_count() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", MOVE)
    client.controller.catch_up()
    await measure(client)
    progress = client.progress
    assert progress.of_job(1) == CopyRate(300, 603, None)
    client.controller.do(Queue([AlterTopic("foo", [AlterRow(1, (4, 2, 3)), AlterRow(2, (6, 2, 3))])]))
    await measure(client)
    assert (progress.of_job(1), progress.of_job(2)) == (CopyRate(300, 300, None, 0), CopyRate(0, 203))


async def test_what_was_copied_of_a_deleted_topic_stays_copied() -> None:
    names = ("foo-0", "bar-0")
    topics = InMemoryController().with_partitions(*(partition(name, [1, 2, 3]) for name in names))
    client = ApiClient(topics.with_limits(per_partition=1))
    await client.post("/v1/jobs", plan(foo_0=[4, 5, 6], bar_0=[4, 5, 6]))
    client.sizes.received_bytes = {("foo-0", 4): 30, ("bar-0", 4): 20}
    await measure(client)
    assert client.progress.of_job(1) == CopyRate(50, 600)
    client.controller.do(DeleteTopics(["bar"]))
    client.controller.isr("bar-0", client.controller["bar-0"].replicas)
    await measure(client)
    assert client.progress.of_job(1) == CopyRate(50, 320)
    client.sizes.received_bytes["foo-0", 4] = 90
    await measure(client)
    assert client.progress.of_job(1) == CopyRate(110, 320)


async def test_a_job_that_has_ended_since_the_measurement_has_nothing_left() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    await measure(client)
    assert (await client.get("/v1/status"))["incoming"]
    client.controller.catch_up()
    assert (await client.get("/v1/status"))["incoming"] == []


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


@pytest.mark.parametrize(
    ("rows", "steps", "least", "most"),
    [(10, 10, 1, 1), (1_000_000, 10, 20, 200), (10_000, 10_000, 5, 15)],
)
def test_many_rows_and_steps_in_flight_are_measured_rarely(
    rows: int, steps: int, least: float, most: float
) -> None:
    assert least <= pause_after(rows, steps) <= most


# ---- throughput of brokers ---------------------------------------------------------------------------------


async def sample(client: ApiClient) -> tuple[dict[int, int | None], dict[int, int | None]]:
    """Measure until a sample is complete; return its incoming and outgoing rates."""
    await measure(client, SAMPLE_SECONDS)
    [*_, last] = client.progress.throughput.samples()
    return last.incoming, last.outgoing


async def test_the_leader_sends_what_the_others_receive() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", MOVE)
    await copy(client, 1, 0, (4, 5, 6))
    client.sizes.received_bytes |= {("foo-0", 4): 30, ("foo-0", 5): 60}
    assert await sample(client) == ({4: 2, 5: 4}, {1: 6})


async def test_the_rest_of_a_step_that_has_ended_counts_for_the_leader_that_sent_it() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", plan(foo_0=[4, 2, 3]))
    client.sizes.received_bytes["foo-0", 4] = 40
    await measure(client)
    client.controller.settle()
    assert client.controller["foo-0"].leader == 4
    assert await sample(client) == ({4: 4}, {1: 4})


async def test_a_step_between_two_measurements_counts() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", plan(foo_0=[1, 2, 4], foo_1=[1, 2, 4]))
    client.sizes.received_bytes["foo-0", 4] = 0
    await measure(client)
    client.controller.settle()
    assert await sample(client) == ({4: 13}, {1: 13})


async def test_replicas_of_unknown_size_make_the_rates_of_their_brokers_unknown() -> None:
    client = ApiClient(three_partitions().with_partitions(partition("unknown-0", [3, 2])))
    await client.post("/v1/jobs", plan(foo_0=[1, 2, 4], unknown_0=[5, 2]))
    client.sizes.received_bytes["foo-0", 4] = 0
    await measure(client)
    client.sizes.received_bytes["foo-0", 4] = 60
    assert await sample(client) == ({4: 4, 5: None}, {1: 4, 3: None})


async def test_what_was_copied_before_it_was_first_measured_is_no_jump() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", plan(foo_0=[1, 2, 4]))
    await measure(client)
    client.sizes.received_bytes["foo-0", 4] = 90
    assert await sample(client) == ({4: None}, {1: None})
    assert await sample(client) == ({}, {})


async def test_a_step_whose_size_becomes_known_soon_leaves_no_gap() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await measure(client)
    await client.post("/v1/jobs", plan(foo_0=[1, 2, 4]))
    await measure(client, 1)
    client.sizes.received_bytes["foo-0", 4] = 28
    assert await sample(client) == ({4: 2}, {1: 2})


async def test_a_broker_that_is_down_receives_nothing() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", plan(foo_0=[1, 2, 4]))
    client.controller.stop(4)
    await measure(client)
    assert await sample(client) == ({}, {})


async def test_the_throttle_of_a_sample_is_that_of_its_end() -> None:
    client = ApiClient()
    await measure(client)
    client.controller.default(THROTTLE, "7000")
    await sample(client)
    assert [each.throttle for each in client.progress.throughput.samples()] == [7_000]


def test_values_that_a_round_does_not_ask_for_are_forgotten() -> None:
    remembered = Remembered[str, int]()
    for key in ("a", "b"):
        remembered.value(key, lambda: 1)
    remembered.end_round()
    assert remembered.value("a", lambda: 2) == 1
    remembered.end_round()
    assert len(remembered) == 1


async def test_the_time_left_of_queued_steps_contains_the_time_outside_of_the_schedule() -> None:
    client = ApiClient(three_partitions(partitions=1))
    controller = client.controller
    client.progress = Progress(controller.state, client.sizes, client.clock, lambda: controller.now_ms)
    client.controller.now_ms = 0
    await client.post("/v1/jobs", MOVE)
    await measure(client)
    await copy(client, 10, 5, (4, 5, 6))
    before = client.progress.of_job(1)
    client.controller.default(SCHEDULE, "00:00-00:01")
    await measure(client)
    now = client.progress.of_job(1)
    assert before is not None
    assert now is not None
    assert (before.seconds_left, now.seconds_left) == (31, 31)
    client.controller.now_ms = 50_000
    await measure(client)
    later = client.progress.of_job(1)
    assert later is not None
    assert later.seconds_left == 24 * 3600 - 50 + 31 - 10
