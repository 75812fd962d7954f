import pytest

from controller.messages.job_events import Pause
from controller.model.configs import CORDONED_LOG_DIRS, PACE, THROTTLE, ResourceType, ThrottleLease
from controller.pace.effort import START
from controller.pace.readings import PaceMeasured, Probe, Source
from server.metrics.moves import MOST_JOBS, PACE_METRICS
from tests.builders import InMemoryController, partition
from tests.controller.disks.directories import Directories
from tests.server.api.api_client import MOVE, ApiClient, three_partitions
from tests.server.scraping import cluster, scrape, value


def test_moving_waiting_and_queued_partitions_are_separate_metrics() -> None:
    controller = InMemoryController().with_partitions(*(partition(f"foo-{n}", (1, 2)) for n in range(3)))
    controller.with_limits(partitions=1).stop(6)
    controller.alter({"foo-0": (3, 4), "foo-1": (3, 4), "foo-2": (6, 1)})
    samples = scrape(controller.state)
    for phase in ("moving", "queued", "waiting"):
        assert value(samples, f"reassignd_{phase}_partitions") == 1, phase


def test_moves_between_directories_are_a_metric_of_their_own() -> None:
    here = Directories()
    here.order(*((name, 1, "/b") for name in here.names))
    here.look()
    samples = scrape(here.controller.state)
    assert value(samples, "reassignd_directory_moves", state="moving") == 1
    assert value(samples, "reassignd_directory_moves", state="waiting") == 2


async def moved(client: ApiClient, seconds: int = 12, rate: int = 5) -> None:
    """Let foo-0 receive `rate` bytes per second at brokers 4, 5 and 6."""
    await client.progress.measure()
    for second in range(1, seconds + 1):
        client.sizes.received_bytes |= {("foo-0", broker): second * rate for broker in (4, 5, 6)}
        await client.clock.advance(1)
        await client.progress.measure()


async def test_a_job_has_bytes_a_rate_and_a_time() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", MOVE)
    await moved(client)
    samples = scrape(client.controller.state, progress=client.progress)
    assert value(samples, "reassignd_job_copied_bytes", job_id="1") == 180
    assert value(samples, "reassignd_job_left_bytes", job_id="1") == 603 - 180
    assert value(samples, "reassignd_job_bytes_per_second", job_id="1") == 15
    assert value(samples, "reassignd_job_remaining_seconds", job_id="1") > 0


async def test_a_broker_has_bytes_left_and_counters_of_bytes() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", MOVE)
    await moved(client)
    samples = scrape(client.controller.state, progress=client.progress)
    assert value(samples, "reassignd_broker_left_bytes", broker="4") == 201 - 60
    assert value(samples, "reassignd_broker_received_bytes_total", broker="4") == 60
    assert sum(n for (name, _), n in samples.items() if name == "reassignd_broker_sent_bytes_total") == 180


async def test_a_job_without_a_rate_has_none() -> None:
    client = ApiClient(three_partitions(partitions=1))
    await client.post("/v1/jobs", MOVE)
    await client.progress.measure()
    names = {name for name, _ in scrape(client.controller.state, progress=client.progress)}
    assert "reassignd_job_left_bytes" in names
    assert not {"reassignd_job_bytes_per_second", "reassignd_job_remaining_seconds"} & names


def test_partitions_and_pauses_of_a_job_are_shown() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2)), partition("foo-1", (1, 2)))
    controller.with_limits(partitions=1).alter({"foo-0": (3, 4), "foo-1": (3, 4)})
    controller.do(Pause(1, True))
    samples = scrape(controller.state)
    assert value(samples, "reassignd_job_paused", job_id="1") == 1
    assert value(samples, "reassignd_paused") == 0
    assert value(samples, "reassignd_job_open_partitions", job_id="1") == 2
    assert value(samples, "reassignd_job_partitions", job_id="1") == 2
    assert value(samples, "reassignd_open_jobs") == 1
    assert value(samples, "reassignd_job_created_timestamp_seconds", job_id="1") == 1


def test_the_number_of_jobs_with_metrics_is_bounded() -> None:
    count = MOST_JOBS + 5
    controller = InMemoryController().with_partitions(*(partition(f"foo-{n}", (1, 2)) for n in range(count)))
    for number in range(count):
        controller.alter({f"foo-{number}": (3, 4)})
    samples = scrape(controller.state)
    assert len([1 for name, _ in samples if name == "reassignd_job_paused"]) == MOST_JOBS
    assert value(samples, "reassignd_open_jobs") == count


def test_limits_that_are_set_and_their_use_are_shown() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2)))
    controller.with_limits(partitions=3).alter({"foo-0": (3, 4)})
    samples = scrape(controller.state)
    assert value(samples, "reassignd_limit", limit="P") == 3
    assert value(samples, "reassignd_limit_used", limit="P") == 1
    assert value(samples, "reassignd_limit_used", limit="C") == 2
    assert ("reassignd_limit", frozenset({("limit", "C")})) not in samples
    assert value(samples, "reassignd_broker_replicas_in_flight", broker="3", direction="in") == 1


def test_the_throttle_in_force_is_shown_while_there_is_one() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2)))
    name = "reassignd_throttle_bytes_per_second"
    assert name not in {name for name, _ in scrape(controller.state)}
    controller.default(THROTTLE, "5000")
    controller.alter({"foo-0": (3, 4)})
    samples = scrape(controller.state)
    assert value(samples, name) == 5000
    assert value(samples, "reassignd_throttle_leases") > 0


def test_a_cordon_is_no_throttle_that_is_left_over() -> None:
    controller = InMemoryController()
    controller.put(ThrottleLease(ResourceType.BROKER, "1", CORDONED_LOG_DIRS, "*", None))
    assert value(scrape(controller.state), "reassignd_throttle_leases") == 0


def measured() -> InMemoryController:
    controller = InMemoryController()
    controller.default(PACE, "auto")
    for at in range(10):
        controller.do(PaceMeasured(at, Source.CANARY, [Probe(1, (), [4.0] * 5)]))
    return controller


def test_latency_target_and_effort_are_shown_by_broker() -> None:
    samples = scrape(state=measured().state)
    assert value(samples, "reassignd_pace_on") == 1
    assert value(samples, "reassignd_pace_latency_seconds", broker="1") == 0.004
    assert value(samples, "reassignd_pace_target_seconds", broker="1") == 0.006
    assert value(samples, "reassignd_pace_effort", broker="1") == START
    assert value(samples, "reassignd_pace_problem") == 0


def test_without_pace_no_broker_is_shown() -> None:
    samples = scrape()
    assert value(samples, "reassignd_pace_on") == 0
    named = {name for name, labels in samples if "broker" in dict(labels)}
    assert not named & {metric.name for metric in PACE_METRICS}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("offline", 1), ("under_replicated", 1), ("under_min_isr", 1)],
)
def test_unhealthy_partitions_are_counted(name: str, expected: float) -> None:
    assert value(scrape(cluster()), f"reassignd_{name}_partitions") == expected


def test_brokers_are_counted_by_state() -> None:
    samples = scrape(cluster())
    assert value(samples, "reassignd_brokers", state="online") == 2
    assert value(samples, "reassignd_brokers", state="offline") == 1


def test_moving_partitions_have_no_gauges_of_their_own_by_default() -> None:
    assert not [name for name, _ in scrape(cluster()) if name.startswith("reassignd_moving_partition_")]


def test_a_moving_partition_is_not_under_replicated_because_of_adding_replicas() -> None:
    samples = scrape(cluster(), moving_partitions=10)
    name = "reassignd_moving_partition_under_replicated"
    assert value(samples, name, topic="t", partition="2") == 0


def test_the_number_of_moving_partitions_with_gauges_is_bounded() -> None:
    state = cluster()
    moving = state.cluster.partitions["t"][2]
    state.put(moving._replace(partition=3))
    names = [name for name, _ in scrape(state, moving_partitions=1)]
    assert names.count("reassignd_moving_partition_under_replicated") == 1
