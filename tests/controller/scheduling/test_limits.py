from controller.scheduling.limits import CONFIGS, Cost, LimitKind, Place, Usage, cost_of, limits_of
from controller.scheduling.plan_limits import PlanLimits
from tests.builders import partition

INTO_4 = Cost(incoming=(4,), source=1, leads=False)
INTO_5 = Cost(incoming=(5,), source=1, leads=False)


def using(limits: PlanLimits, *costs: Cost) -> Usage:
    usage = Usage()
    usage.limits = limits
    for cost in costs:
        usage.take(cost)
    return usage


def test_limits_are_read_from_their_configs() -> None:
    assert limits_of(dict.fromkeys(CONFIGS, "7")) == PlanLimits(7, 7, 7, 7, 7)


def test_without_configs_nothing_is_limited() -> None:
    assert using(limits_of({}), *[INTO_4] * 10_000).exhausted(INTO_4) is None


def test_the_step_is_planned_within_what_may_run_at_once() -> None:
    assert PlanLimits(per_partition=5, replicas=3, per_broker=2).step == 2


def test_partitions_are_counted_cluster_wide() -> None:
    assert using(PlanLimits(partitions=1), INTO_4).exhausted(INTO_5) == Place(LimitKind.PARTITIONS)


def test_a_step_is_as_busy_as_the_busiest_of_its_brokers() -> None:
    usage = using(PlanLimits(), INTO_4, INTO_4, Cost((4, 5), 2, False))
    assert usage.busiest(INTO_4) == 3
    assert usage.busiest(Cost((5,), 9, False)) == 1
    assert usage.busiest(Cost((9,), 8, False)) == 0


def test_the_average_is_of_brokers_that_have_something_to_do() -> None:
    assert using(PlanLimits()).average() == 1
    assert using(PlanLimits(), INTO_4, INTO_4, INTO_5).average() == 2


def test_a_broker_is_limited_as_a_target() -> None:
    other_source = Cost((4,), 2, False)
    assert using(PlanLimits(per_broker=1), INTO_4).exhausted(other_source) == Place(LimitKind.INCOMING, 4)


def test_a_broker_is_limited_as_a_source_apart_from_that() -> None:
    assert using(PlanLimits(per_broker=1), INTO_4).exhausted(INTO_5) == Place(LimitKind.OUTGOING, 1)
    assert using(PlanLimits(per_broker=1), INTO_4).exhausted(Cost((1,), 4, False)) is None


def test_replicas_are_counted_one_by_one() -> None:
    assert using(PlanLimits(replicas=2), INTO_4).exhausted(Cost((5, 6), 2, False)) == Place(
        LimitKind.REPLICAS
    )


def test_what_exceeds_a_limit_alone_may_run_alone() -> None:
    assert using(PlanLimits(replicas=1)).exhausted(Cost((4, 5, 6), 1, False)) is None


def test_a_pure_drop_takes_no_place_but_the_leaders() -> None:
    usage = using(PlanLimits(partitions=1, leaders=1), INTO_4, Cost((), 1, True))
    assert usage.exhausted(Cost((), 1, False)) is None
    assert usage.exhausted(Cost((), 1, True)) == Place(LimitKind.LEADERS)


def test_places_come_back_when_the_step_ends() -> None:
    usage = using(PlanLimits(partitions=1), INTO_4)
    assert Place(LimitKind.PARTITIONS) in usage.release(INTO_4)
    assert usage.exhausted(INTO_4) is None


def test_the_brokers_that_take_part_are_known() -> None:
    assert using(PlanLimits(), INTO_4).brokers() == {1, 4}


def test_a_step_costs_what_it_adds_and_its_leader_sends() -> None:
    assert cost_of(partition("foo-0", [1, 2, 3]), (1, 4, 5), leads=False) == Cost((4, 5), 1, False)


def test_a_place_says_what_it_is() -> None:
    assert str(Place(LimitKind.INCOMING, 5)) == "replicas moving to broker 5"
    assert str(Place(LimitKind.PARTITIONS)) == "partition movements"
