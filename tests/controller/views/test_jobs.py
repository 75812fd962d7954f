"""Views of jobs, the queue and the limits."""

from controller.messages.job_events import AlterRow, AlterTopic, Pause, Queue, RollBackJob
from controller.model.configs import SCHEDULE
from controller.model.limits import PlanLimits
from controller.scheduling.limits import Capacity, Cost, LimitKind, Usage
from controller.views.jobs import (
    BrokerLoad,
    JobState,
    Part,
    PartState,
    Totals,
    broker_loads,
    exhausted_text,
    job_state,
    limit_views,
    parts,
    queued,
    returned,
    totals,
)
from tests.builders import InMemoryController, partition


def controller(**limits: int) -> InMemoryController:
    """Three partitions on brokers 1 to 3, to be moved to 4 to 6."""
    names = ("foo-0", "foo-1", "foo-2")
    return (
        InMemoryController()
        .with_partitions(*(partition(name, [1, 2, 3]) for name in names))
        .with_limits(**limits)
    )


def move(cluster: InMemoryController, *names: str) -> InMemoryController:
    cluster.alter({name: [4, 5, 6] for name in names or ("foo-0", "foo-1", "foo-2")})
    return cluster


def rows(cluster: InMemoryController, job: int) -> list[Part]:
    return [part for part in parts(cluster.state, job) if part is not None]


def states(cluster: InMemoryController, job: int) -> dict[str, str]:
    return {f"{part.topic}-{part.partition}": part.state.value for part in rows(cluster, job)}


def reason(cluster: InMemoryController, job: int = 1) -> str:
    [text] = {part.reason for part in rows(cluster, job) if part.reason}
    return text


def test_a_job_runs_is_paused_and_ends() -> None:
    cluster = move(controller())
    seen = [job_state(cluster.state.orders.jobs[1])]
    cluster.do(Pause(1, True))
    seen.append(job_state(cluster.state.orders.jobs[1]))
    cluster.settle()
    seen.append(job_state(cluster.state.orders.jobs[1]))
    assert seen == [JobState.RUNNING, JobState.PAUSED, JobState.ENDED]


def test_moving_partitions_are_listed_first_and_ended_ones_last() -> None:
    cluster = move(controller(partitions=1))
    cluster.catch_up()
    assert list(states(cluster, 1).items()) == [("foo-1", "moving"), ("foo-2", "queued"), ("foo-0", "done")]


def test_ended_partitions_are_listed_in_the_order_of_their_states() -> None:
    cluster = move(controller())
    cluster.alter({"foo-1": [6, 5, 4]})
    cluster.alter({"foo-0": None})
    cluster.settle()
    assert list(states(cluster, 1).items()) == [
        ("foo-2", "done"),
        ("foo-0", "rolled back"),
        ("foo-1", "taken over"),
    ]


def test_a_partition_that_starts_during_the_listing_is_listed_once() -> None:
    cluster = move(controller(partitions=1))
    listing = parts(cluster.state, 1)
    listed = [next(listing)]
    cluster.catch_up()
    listed += listing
    names = [f"{part.topic}-{part.partition}" for part in listed if part is not None]
    assert sorted(names) == ["foo-0", "foo-1", "foo-2"]


def test_a_moving_partition_shows_its_step() -> None:
    [part] = rows(move(controller(per_partition=1), "foo-0"), 1)
    assert (part.state, part.replicas, part.target) == (PartState.MOVING, (1, 2, 3), (4, 5, 6))
    assert part.step == (4, 1, 2, 3)


def test_the_partitions_of_another_job_are_not_listed() -> None:
    cluster = move(move(controller(), "foo-0"), "foo-1")
    assert states(cluster, 1) == {"foo-0": "moving"}
    assert None in list(parts(cluster.state, 1))


def test_a_limit_that_is_reached_is_the_reason() -> None:
    assert reason(move(controller(partitions=1))) == "limit P: 1 of 1 partition movements"


def test_a_limit_that_a_step_does_not_fit_shows_the_needed_amount() -> None:
    assert reason(move(controller(replicas=4))) == "limit C: 3 of 4 replica movements, 3 more needed"


def test_a_broker_that_is_busy_is_named() -> None:
    cluster = controller(per_broker=1, per_partition=1)
    cluster.alter({"foo-0": [4, 2, 3], "foo-1": [4, 2, 3]})
    assert reason(cluster) == "limit B: 1 of 1 replicas moving to broker 4"


def test_an_offline_broker_is_the_reason() -> None:
    cluster = controller()
    cluster.stop(6)
    cluster.alter({"foo-0": [1, 2, 6]})
    assert reason(cluster) == "offline: broker 6"
    assert states(cluster, 1) == {"foo-0": "waiting"}


def test_a_pause_is_the_reason() -> None:
    cluster = controller()
    cluster.do(Pause(None, True))
    assert reason(move(cluster)) == "all reassignments are paused"


def test_the_schedule_is_the_reason_and_partitions_wait() -> None:
    cluster = controller()
    cluster.default(SCHEDULE, "22:00-23:00")
    assert reason(move(cluster)) == "outside of the schedule until 22:00 (UTC)"
    assert set(states(cluster, 1).values()) == {"waiting"}
    assert totals(cluster.state)[1:4] == (0, len(states(cluster, 1)), 0)


def test_a_paused_job_is_the_reason() -> None:
    cluster = move(controller(partitions=1))
    cluster.do(Pause(1, True))
    assert reason(cluster) == "job 1 is paused"


def test_a_step_with_capacity_shows_that_it_will_start() -> None:
    cluster = controller()
    cluster.do(Pause(None, True))
    move(cluster)
    cluster.state.orders.paused = False
    assert reason(cluster) == "waits for its turn"


def test_a_queued_plan_is_listed_until_it_starts() -> None:
    cluster = move(controller(per_partition=1), "foo-0")
    cluster.catch_up()
    plan = [AlterTopic("foo", [AlterRow(0, (1, 2, 6)), AlterRow(1, (1, 2, 6))])]
    cluster.with_limits(partitions=1).do(Queue(plan))
    entries = [part for part in queued(cluster.state) if part is not None]
    assert {(part.partition, part.state) for part in entries} == {
        (0, PartState.PENDING),
        (1, PartState.QUEUED),
    }
    cluster.settle()
    assert list(queued(cluster.state)) == []


def test_a_rollback_is_done_if_it_undid_a_step_or_moved_the_partition_back() -> None:
    cluster = move(controller(partitions=1))
    cluster.catch_up()
    cluster.do(RollBackJob(1))
    cluster.settle()
    assert set(states(cluster, 2).values()) == {"done"}
    assert set(states(cluster, 1).values()) == {"done", "taken over"}


def test_a_rollback_that_was_cancelled_is_not_done() -> None:
    cluster = move(controller())
    cluster.catch_up()
    cluster.do(RollBackJob(1))
    cluster.alter({"foo-0": None})
    cluster.settle()
    assert list(states(cluster, 2).values()) == ["done", "done", "rolled back"]
    assert states(cluster, 2)["foo-0"] == "rolled back"


def test_the_partitions_that_a_rollback_returned_are_counted() -> None:
    cluster = move(controller(partitions=1))
    cluster.catch_up()
    cluster.do(RollBackJob(1))
    cluster.settle()
    rows = cluster.state.orders.finished[2].values()
    assert (len(rows), returned(cluster.state, cluster.state.orders.jobs[2], rows)) == (3, 2)


def test_the_job_that_took_over_a_partition_is_named() -> None:
    cluster = move(move(controller(), "foo-0"))
    cluster.alter({"foo-0": [4, 5, 1]})
    assert [part.reason for part in rows(cluster, 1)] == ["taken over by job 3"]


def test_the_totals_count_partitions_by_state() -> None:
    cluster = move(controller(partitions=1))
    assert totals(cluster.state) == Totals(ongoing=3, moving=1, waiting=0, queued=2, pending=0)


def test_limits_show_their_usage() -> None:
    cluster = move(controller(partitions=2, per_broker=5))
    shown = {view.name: (view.limit, view.used) for view in limit_views(cluster.state)}
    assert shown == {
        "R": (None, None),
        "P": (2, 1),
        "L": (None, 1),
        "C": (None, 3),
        "B": (5, 3),
        "bytes": (None, 0),
    }


def test_a_reason_names_a_limit_as_it_is_set() -> None:
    usage, cost = Usage(PlanLimits(bytes=1000)), Cost((4,), 1, False, size=1024)
    usage.count(cost, 1)
    reason = exhausted_text(usage, Capacity(LimitKind.BYTES), cost)
    assert reason == "limit bytes: 1024 of 1000 bytes on their way, 1024 more needed"


def test_brokers_show_the_replicas_that_move_to_and_from_them() -> None:
    cluster = move(controller(), "foo-0")
    assert broker_loads(cluster.state) == [
        BrokerLoad(1, 0, 3),
        BrokerLoad(4, 1, 0),
        BrokerLoad(5, 1, 0),
        BrokerLoad(6, 1, 0),
    ]
