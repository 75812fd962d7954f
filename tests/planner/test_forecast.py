import pytest

from controller.model.limits import PlanLimits
from planner.model.forecast import per_wave
from planner.model.snapshot import Load, Snapshot
from planner.model.step_table import schedule
from planner.plan import Plan, forecast, make_plan, moves_of
from tests.planner.builders import cluster, partition

BANDWIDTH = 100


def planned(snapshot: Snapshot, targets: dict[int, tuple[int, ...]], **limits: int) -> Plan:
    moves = moves_of([(("orders", number), target) for number, target in targets.items()], snapshot)
    return make_plan(moves, snapshot, PlanLimits(**limits), BANDWIDTH, schedule)


@pytest.fixture
def plan() -> Plan:
    """Broker 1 sends 1000 bytes to 3 and 3000 bytes to 4, both from itself; then leadership moves to 3."""
    snapshot = cluster(partition("orders", 0, (1, 2)), partition("orders", 1, (1, 2), bytes=3000))
    return planned(snapshot, {0: (3, 2), 1: (1, 4)}, partitions=1)


def test_a_wave_has_the_traffic_of_each_broker(plan: Plan) -> None:
    assert [(row.wave, row.broker, row.bytes_in, row.bytes_out) for row in plan.waves] == [
        (0, 1, 0, 1000),
        (0, 3, 1000, 0),
        (1, 1, 0, 3000),
        (1, 4, 3000, 0),
    ]


def test_a_wave_takes_as_long_as_its_busiest_broker(plan: Plan) -> None:
    assert [wave.seconds for wave in per_wave(plan.waves)] == [10, 30]


def test_a_broker_with_a_rate_of_its_own_takes_longer() -> None:
    snapshot = cluster(partition("orders", 0, (1, 2)))
    moves = moves_of([(("orders", 0), (3, 2))], snapshot)
    plan = make_plan(moves, snapshot, PlanLimits(), BANDWIDTH, schedule, {3: 50})
    seconds = {row["broker"]: row["seconds"] for row in plan.forecast.brokers}
    assert (plan.forecast.seconds, seconds[1], seconds[3]) == (20, 10, 20)


def written(rate: float) -> Plan:
    """Return the plan that copies 1000 bytes to broker 3 while producers write to them."""
    load = Load(bytes_in=rate)
    snapshot = cluster(partition("orders", 0, (1, 2))._replace(load=load))
    return planned(snapshot, {0: (3, 2)})


def test_what_producers_write_in_the_meantime_is_copied_too() -> None:
    assert written(60).forecast.seconds == 1000 / (BANDWIDTH - 60)
    assert written(60).forecast.outpaced_brokers == 0


def test_a_copy_that_producers_outpace_is_counted() -> None:
    slow = written(BANDWIDTH).forecast
    assert (slow.outpaced_brokers, slow.seconds, slow.least_seconds) == (2, 1000, 10)


def test_waves_take_their_sum_and_no_order_less_than_the_busiest_broker(plan: Plan) -> None:
    assert plan.forecast.seconds == 40
    assert plan.forecast.least_seconds == 40
    together = planned(cluster(partition("orders", 0, (1, 2))), {0: (3, 4)})
    assert together.forecast.seconds == 20  # broker 1 sends two copies


def test_a_broker_has_before_and_after(plan: Plan) -> None:
    first, second, third, *_ = plan.forecast.brokers
    assert first["before"] == {"replicas": 2, "bytes": 4000, "leaders": 2}
    assert first["after"] == {"replicas": 1, "bytes": 3000, "leaders": 1}
    assert second["after"] == {"replicas": 1, "bytes": 1000, "leaders": 0}
    assert third["after"] == {"replicas": 1, "bytes": 1000, "leaders": 1}


def test_the_loads_afterwards_add_up_to_those_of_the_targets(plan: Plan) -> None:
    for what, total in {"replicas": 4, "bytes": 8000, "leaders": 2}.items():
        assert sum(broker["after"][what] for broker in plan.forecast.brokers) == total


def test_elections_of_a_job_that_elects_count_as_leader_movements() -> None:
    rows = [partition("orders", 0, (1, 2)), partition("orders", 1, (2, 1), leader=1)]
    snapshot = cluster(*rows, partition("orders", 2, (1, 2), isr=(1,)))
    targets = [(("orders", number), (2, 1)) for number in range(3)]
    limits = PlanLimits(leaders=1)
    assert forecast(targets, snapshot, limits).leader_movements == 0
    elected = forecast(targets, snapshot, limits, elects=True)
    assert (elected.leader_movements, elected.waves) == (2, 2)


def test_a_leader_movement_is_one_in_and_one_out(plan: Plan) -> None:
    moved = {each["broker"]: (each["leaders_in"], each["leaders_out"]) for each in plan.forecast.brokers}
    assert moved[3] == (1, 0)
    assert moved[1] == (0, 1)
