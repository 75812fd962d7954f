import pytest

from common.plan_errors import PlanError
from controller.cluster.config_keys import CLUSTER_WIDE
from controller.model.limits import UNLIMITED, PlanLimits
from controller.scheduling.limits import (
    LIMITS,
    PREFIX,
    Capacity,
    Cost,
    LimitKind,
    Usage,
    Windows,
    by_letter,
    capacities_of,
    limits_of,
    parse_limits,
)

INTO_4 = Cost(incoming=(4,), source=1, leads=False)
INTO_5 = Cost(incoming=(5,), source=1, leads=False)


def using(limits: PlanLimits, *costs: Cost) -> Usage:
    usage = Usage(limits)
    for cost in costs:
        usage.count(cost, 1)
    return usage


def test_limits_are_read_from_their_configs() -> None:
    assert limits_of({limit.config: "7" for limit in LIMITS}) == PlanLimits(7, 7, 7, 7, 7, 7)


def test_each_limit_has_a_field_a_config_and_a_name_of_its_own() -> None:
    assert tuple(limit.field for limit in LIMITS) == PlanLimits._fields
    assert len({limit.name.lower() for limit in LIMITS}) == len(LIMITS)
    assert {limit.config for limit in LIMITS} == {key for key in CLUSTER_WIDE if key.startswith(PREFIX)}


def test_the_use_of_a_limit_is_that_of_the_busiest_broker() -> None:
    usage = using(PlanLimits(), INTO_4._replace(size=100), INTO_5)
    assert usage.by_limit() == {"R": None, "P": 2, "L": 0, "C": 2, "B": 2, "bytes": 100}


def test_without_configs_there_are_no_limits() -> None:
    assert using(limits_of({}), *[INTO_4] * 10_000).exhausted(capacities_of(INTO_4)) is None


def test_the_size_of_a_step_is_within_all_limits() -> None:
    assert PlanLimits(per_partition=5, replicas=3, per_broker=2).step == 2


def test_partitions_are_counted_cluster_wide() -> None:
    assert using(PlanLimits(partitions=1), INTO_4).exhausted(capacities_of(INTO_5)) == Capacity(
        LimitKind.PARTITIONS
    )


def test_the_busiest_broker_of_a_step_counts() -> None:
    usage = using(PlanLimits(), INTO_4, INTO_4, Cost((4, 5), 2, False))
    assert usage.busiest(INTO_4) == 3
    assert usage.busiest(Cost((5,), 9, False)) == 1
    assert usage.busiest(Cost((9,), 8, False)) == 0


def test_the_average_includes_only_brokers_in_use() -> None:
    assert using(PlanLimits()).average() == 1
    assert using(PlanLimits(), INTO_4, INTO_4, INTO_5).average() == 2


def test_a_broker_is_limited_as_a_target() -> None:
    other_source = Cost((4,), 2, False)
    assert using(PlanLimits(per_broker=1), INTO_4).exhausted(capacities_of(other_source)) == Capacity(
        LimitKind.INCOMING, 4
    )


def test_a_broker_is_limited_as_a_source_separately() -> None:
    assert using(PlanLimits(per_broker=1), INTO_4).exhausted(capacities_of(INTO_5)) == Capacity(
        LimitKind.OUTGOING, 1
    )
    assert using(PlanLimits(per_broker=1), INTO_4).exhausted(capacities_of(Cost((1,), 4, False))) is None


def test_replicas_are_counted_individually() -> None:
    assert using(PlanLimits(replicas=2), INTO_4).exhausted(capacities_of(Cost((5, 6), 2, False))) == Capacity(
        LimitKind.REPLICAS
    )


def test_a_step_that_exceeds_a_limit_by_itself_may_run_alone() -> None:
    assert using(PlanLimits(replicas=1)).exhausted(capacities_of(Cost((4, 5, 6), 1, False))) is None


def test_a_pure_drop_uses_leader_movements_only() -> None:
    usage = using(PlanLimits(partitions=1, leaders=1), INTO_4, Cost((), 1, True))
    assert usage.exhausted(capacities_of(Cost((), 1, False))) is None
    assert usage.exhausted(capacities_of(Cost((), 1, True))) == Capacity(LimitKind.LEADERS)


def test_capacity_is_released_when_the_step_ends() -> None:
    usage = using(PlanLimits(partitions=1), INTO_4)
    usage.count(INTO_4, -1)
    assert Capacity(LimitKind.PARTITIONS) in usage.freed
    assert usage.exhausted(capacities_of(INTO_4)) is None


def test_brokers_returns_senders_and_receivers() -> None:
    assert using(PlanLimits(), INTO_4).brokers() == {1, 4}


def test_the_text_of_a_capacity_names_its_broker() -> None:
    assert str(Capacity(LimitKind.INCOMING, 5)) == "replicas moving to broker 5"
    assert str(Capacity(LimitKind.PARTITIONS)) == "partition movements"


def test_pace_limits_single_brokers_and_the_cluster() -> None:
    usage = using(PlanLimits(), INTO_4)
    usage.windows = Windows({4: 2, 1: 2}, others=1, cluster=2)
    assert usage.exhausted(capacities_of(INTO_4)) is None
    usage.windows = Windows({4: 1, 1: 2}, others=1, cluster=2)
    assert usage.exhausted(capacities_of(INTO_4)) == Capacity(LimitKind.INCOMING, 4)
    usage.windows = Windows({}, others=5, cluster=1)
    assert usage.exhausted(capacities_of(INTO_4)) == Capacity(LimitKind.PARTITIONS)
    assert usage.is_paced(Capacity(LimitKind.PARTITIONS))


def test_pace_does_not_limit_the_bytes_on_their_way() -> None:
    usage = using(PlanLimits(), INTO_4._replace(size=2**40))
    usage.windows = Windows({}, others=5, cluster=5)
    assert usage.exhausted(capacities_of(INTO_5._replace(size=2**40))) is None


def test_the_limits_of_operators_remain_upper_bounds_of_pace() -> None:
    usage = using(PlanLimits(per_broker=1), INTO_4)
    usage.windows = Windows({4: 9}, others=9)
    assert usage.limit(Capacity(LimitKind.INCOMING, 4)) == 1
    assert not usage.is_paced(Capacity(LimitKind.INCOMING, 4))


def test_replicas_that_have_ended_are_counted_by_broker() -> None:
    usage = using(PlanLimits(), INTO_4, INTO_4, INTO_5)
    usage.count(INTO_4, -2, ended=True)
    assert usage.ended[Capacity(LimitKind.INCOMING, 4)] == 2
    assert usage.ended[Capacity(LimitKind.OUTGOING, 1)] == 2
    assert usage.taken(Capacity(LimitKind.OUTGOING, 1)) == 1


def test_limits_are_parsed_by_letter() -> None:
    assert parse_limits("r=1, p=20,b=5") == PlanLimits(per_partition=1, partitions=20, per_broker=5)
    assert parse_limits("") == PlanLimits()
    assert parse_limits("r=4,c=2").step == 2


@pytest.mark.parametrize("text", ["x=1", "r", "r=0", "r=-1", "r=many", f"r={UNLIMITED + 1}", "r=²"])
def test_an_invalid_limit_is_refused(text: str) -> None:
    with pytest.raises(PlanError, match=r"^'"):
        parse_limits(text)


def test_by_letter_is_the_reverse_of_parsing() -> None:
    assert by_letter(parse_limits("l=3"))["l"] == 3
