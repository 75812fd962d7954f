"""Goals of Cruise Control: judged by what is known, and never FIXED by what is not."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.state.cluster import Disk
from server.api.shared.proposals import ProposalRequest
from server.cruisecontrol.shared.capacities import Capacity
from server.cruisecontrol.shared.errors import CruiseControlError
from server.cruisecontrol.shared.goals import GOALS, Evidence, as_request, balancedness, choose, judge
from server.cruisecontrol.shared.loads import BrokerRow

LIMITS = Capacity(None, 100.0, 50.0)
BROKER = BrokerRow(1, "a", "r", "ALIVE", 10, 5, 1000, 10_000, 8.0, 16.0, 4.0, 6.0, 0.5, LIMITS)


def evidence(
    *rows: BrokerRow, racks: int = 0, topics: int = 0, excluded: frozenset[int] = frozenset()
) -> Evidence:
    return Evidence(rows, racks, topics, excluded)


def status(goal: str, before: Evidence, after: Evidence) -> tuple[str, str]:
    chosen = choose([goal], skip_hard=True, assigner=False, has_load=True)
    [verdict] = judge(chosen, before, after)
    return verdict.status, verdict.reason


EVEN = evidence(BROKER, replace(BROKER, id=2))


@pytest.mark.parametrize(
    ("goal", "uneven"),
    [
        ("ReplicaDistributionGoal", replace(BROKER, id=2, replicas=20)),
        ("LeaderReplicaDistributionGoal", replace(BROKER, id=2, leaders=10)),
        ("DiskUsageDistributionGoal", replace(BROKER, id=2, bytes=2000)),
        ("NetworkInboundUsageDistributionGoal", replace(BROKER, id=2, leader_in=30.0)),
        ("NetworkOutboundUsageDistributionGoal", replace(BROKER, id=2, bytes_out=12.0)),
        ("LeaderBytesInDistributionGoal", replace(BROKER, id=2, leader_in=30.0)),
        ("CpuUsageDistributionGoal", replace(BROKER, id=2, leader_in=30.0)),
        ("DiskCapacityGoal", replace(BROKER, id=2, bytes=9000)),
        ("NetworkInboundCapacityGoal", replace(BROKER, id=2, leader_in=70.0)),
        ("NetworkOutboundCapacityGoal", replace(BROKER, id=2, bytes_out=41.0)),
        ("PotentialNwOutGoal", replace(BROKER, id=2, potential_out=41.0)),
        ("ReplicaCapacityGoal", replace(BROKER, id=2, replicas=10_001)),
    ],
)
def test_a_goal_is_violated_by_an_uneven_broker_and_fixed_later(goal: str, uneven: BrokerRow) -> None:
    before = evidence(BROKER, uneven)
    assert status(goal, before, EVEN) == ("FIXED", "")
    assert status(goal, before, before) == ("VIOLATED", "")
    assert status(goal, EVEN, EVEN) == ("NO-ACTION", "")


def test_disks_are_not_judged_by_sizes_that_are_not_known() -> None:
    some = evidence(replace(BROKER, unsized=1))
    for goal in ("DiskCapacityGoal", "DiskUsageDistributionGoal"):
        assert status(goal, some, EVEN) == ("NO-ACTION", "the sizes of some replicas are not known")
    full = evidence(replace(BROKER, unsized=1, bytes=9000))
    assert status("DiskCapacityGoal", full, full) == ("VIOLATED", "")


def test_racks_and_topics_are_judged_by_the_excess() -> None:
    assert status("RackAwareGoal", evidence(BROKER, racks=2), EVEN) == ("FIXED", "")
    assert status("TopicReplicaDistributionGoal", EVEN, evidence(BROKER, topics=1)) == ("VIOLATED", "")


def test_brokers_that_leave_or_are_dead_have_no_share() -> None:
    empty = replace(BROKER, id=3, replicas=0)
    assert status("ReplicaDistributionGoal", EVEN, evidence(*EVEN.rows, empty))[0] == "VIOLATED"
    left = evidence(*EVEN.rows, empty, excluded=frozenset({3}))
    dead = evidence(*EVEN.rows, replace(empty, state="DEAD"))
    assert {status("ReplicaDistributionGoal", EVEN, each)[0] for each in (left, dead)} == {"NO-ACTION"}


unknown = st.builds(
    BrokerRow,
    st.integers(1, 9),
    st.just("h"),
    st.just("r"),
    st.just("ALIVE"),
    st.integers(0, 99),
    st.integers(0, 99),
    st.integers(0, 99),
    st.none() | st.just(100),
    *([st.none() | st.floats(0, 1e9)] * 5),
)
goals = st.sampled_from([goal.name for goal in GOALS])


@given(goals, st.lists(unknown, min_size=1, max_size=5), st.lists(unknown, min_size=1, max_size=5))
def test_only_what_can_be_judged_is_fixed(goal: str, before: list[BrokerRow], after: list[BrokerRow]) -> None:
    found, reason = status(goal, evidence(*before), evidence(*after))
    assert (found == "NO-ACTION") or not reason


def test_a_hard_goal_without_capacities_is_an_error() -> None:
    chosen = choose(["NetworkInboundCapacityGoal"], skip_hard=False, assigner=False, has_load=True)
    unknown = evidence(replace(BROKER, limits=Capacity()))
    with pytest.raises(CruiseControlError, match="cannot be judged: no capacity"):
        judge(chosen, unknown, unknown)


def test_a_plan_that_violates_a_hard_goal_is_refused_unless_it_is_skipped() -> None:
    full = evidence(replace(BROKER, bytes=9000))
    with pytest.raises(CruiseControlError, match="the hard goal DiskCapacityGoal is violated after the plan"):
        judge(choose(["DiskCapacityGoal"], skip_hard=False, assigner=False, has_load=True), full, full)
    assert status("DiskCapacityGoal", full, full) == ("VIOLATED", "")


def test_a_default_goal_that_is_hard_and_stays_violated_refuses_a_plan_that_is_to_mend_it() -> None:
    full = evidence(replace(BROKER, bytes=9000))
    chosen = choose([], skip_hard=False, assigner=False, has_load=False)
    with pytest.raises(CruiseControlError, match="DiskCapacityGoal is violated after the plan, too"):
        judge(chosen, full, full)
    statuses = {each.goal.name: each.status for each in judge(chosen, full, full, mends=False)}
    assert statuses["DiskCapacityGoal"] == "VIOLATED"
    skipped = judge(choose([], skip_hard=True, assigner=False, has_load=False), full, full)
    assert [each.status for each in skipped].count("VIOLATED") == 1


@pytest.mark.parametrize("mends", [True, False])
def test_no_plan_violates_a_default_goal_that_is_hard(mends: bool) -> None:
    chosen = choose([], skip_hard=False, assigner=False, has_load=False)
    with pytest.raises(CruiseControlError, match="RackAwareDistributionGoal is violated by the plan"):
        judge(chosen, EVEN, evidence(*EVEN.rows, racks=1), mends=mends)


def test_a_default_goal_that_nobody_can_judge_is_left_out() -> None:
    unknown = evidence(replace(BROKER, capacity=None))
    chosen = choose([], skip_hard=False, assigner=False, has_load=False)
    reasons = {each.goal.name: each.reason for each in judge(chosen, unknown, unknown)}
    assert "no capacity" in reasons["DiskCapacityGoal"]


def test_rates_are_among_the_defaults_only_if_they_are_measured() -> None:
    names = [choose([], skip_hard=False, assigner=False, has_load=each).loads for each in (False, True)]
    assert names == [["replicas", "bytes"], ["replicas", "bytes", "in", "out"]]


def test_rates_that_are_not_measured_are_not_asked_for() -> None:
    chosen = choose(["NetworkInboundUsageDistributionGoal"], skip_hard=False, assigner=False, has_load=False)
    request = as_request(chosen, ProposalRequest(balance=True), has_load=False, evens=True)
    assert (request.by, request.balance, request.racks) == (None, False, True)


def test_the_score_falls_by_the_weights_of_violated_goals() -> None:
    names = ["RackAwareGoal", "ReplicaDistributionGoal"]
    chosen = choose(names, skip_hard=True, assigner=False, has_load=True)
    before = evidence(BROKER, replace(BROKER, id=2, replicas=20), racks=1)
    first, second = balancedness(judge(chosen, before, evidence(*EVEN.rows, racks=1)))
    racks, replicas = 1.1**2 * 1.5, 1.1
    assert (first, round(second, 9)) == (0.0, round(100 * replicas / (racks + replicas), 9))


def dirs(*used: int, cordoned: Sequence[int] = (), total: int = 100) -> BrokerRow:
    """Return a broker with directories of which so much is used."""
    return replace(
        BROKER, disks=[Disk(f"/{at}", total, total - each, 1, at in cordoned) for at, each in enumerate(used)]
    )


CAPACITY, EVENNESS = "IntraBrokerDiskCapacityGoal", "IntraBrokerDiskUsageDistributionGoal"


@pytest.mark.parametrize(
    ("goal", "bad", "good"),
    [
        (CAPACITY, dirs(81, 10), dirs(80, 80)),
        (CAPACITY, dirs(81), dirs(80)),
        (EVENNESS, dirs(50, 70), dirs(50, 55)),
        (EVENNESS, dirs(50, 50, 0), dirs(50, 50, 0, cordoned=[2])),
    ],
)
def test_the_directories_of_a_broker_are_judged(goal: str, bad: BrokerRow, good: BrokerRow) -> None:
    before, after = evidence(bad), evidence(good)
    assert status(goal, before, after) == ("FIXED", "")
    assert status(goal, before, before) == ("VIOLATED", "")
    assert status(goal, after, after) == ("NO-ACTION", "")


@pytest.mark.parametrize("goal", [CAPACITY, EVENNESS])
def test_directories_that_are_not_known_are_not_judged(goal: str) -> None:
    known, unplaced = evidence(dirs(50)), evidence(replace(BROKER, disks=None))
    assert status(goal, known, unplaced)[1].startswith("brokers choose the log directories")
    for unknown in (evidence(BROKER), evidence(dirs(0, total=-1))):
        assert status(goal, unknown, unknown) == (
            "NO-ACTION",
            "the sizes of some log directories are not known",
        )
    assert status(goal, evidence(dirs(90, 10), replace(BROKER, id=2)), known) == ("FIXED", "")
