"""Goals that do not even out loads: what they move goes where no broker gets above its range."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.model.snapshot import Snapshot
from planner.proposals.problem.goal import Problem, ProposalError, problem_of
from planner.proposals.proposal_text import summary
from planner.proposals.result import PartialPlanError, Proposal
from planner.proposing import propose, propose_for, read_goal_options
from tests.planner.proposals.builders import carried_out, cluster, loaded
from tests.planner.proposals.by_load.test_balance import large
from tests.planner.proposals.solver.test_relief import with_disks


def problem(snapshot: Snapshot, *words: str, **options: object) -> Problem:
    return problem_of(snapshot, read_goal_options(words, options).goal)


def lists(proposal: Proposal) -> dict[int, tuple[int, ...]]:
    return {row.partition: replicas for row, replicas in proposal.changes.items()}


HOT = loaded(cluster("----", (1,), (2,), (3,), (4,), (4,), (4,)), 60, 30, 40, 40, 10, 30)
"""Broker 4 has 80 of 210 bytes per second; without it, the fair share of the others is 70."""


def test_a_drained_broker_gives_each_replica_where_its_load_fits() -> None:
    proposal = propose(problem(HOT, "drain", "4", by="in", tolerance="0%"))
    assert lists(proposal) == {3: (2,), 4: (1,), 5: (3,)}
    proposal = propose(problem(HOT, "drain", "4", by="in", tolerance="15%"))
    assert max(each.after for each in proposal.loads[0].brokers) <= 81


def test_a_plan_that_breaks_a_range_is_refused_and_says_where() -> None:
    snapshot = loaded(cluster("---", (1,), (2,), (3,)), 50, 50, 50)
    with pytest.raises(PartialPlanError, match=r"broker \d gets 100 B/s of in instead of at most 79 B/s"):
        propose(problem(snapshot, "drain", "3", by="in"))
    accepted = propose(problem(snapshot, "drain", "3", by="in", allow_partial=True))
    assert accepted.moves == 1


def test_an_accepted_plan_that_moves_nothing_does_not_claim_to_meet_the_goal() -> None:
    snapshot = loaded(cluster("--", (1,), (2,), (2,)), 60, 30, 10)
    accepted = propose(problem(snapshot, "relieve", "1", by="in", tolerance="0%", allow_partial=True))
    assert summary(accepted)[0] == "nothing to move: no plan comes nearer to the goal"
    uneven = propose(problem(snapshot, "balance", by="in", tolerance="0%"))
    assert summary(uneven)[0] == "nothing to move: no plan comes nearer to the goal"


def test_bytes_that_no_program_has_estimated_are_not_named() -> None:
    lines = summary(propose(problem(HOT, "drain", "4", by="out", allow_partial=True)))
    assert "no plan within the ranges copies fewer than 3 B" in lines


def test_a_drain_of_a_large_cluster_keeps_all_ranges_and_moves_no_more() -> None:
    balanced = carried_out(snapshot := large(), propose(problem(snapshot, "balance", by="replicas,load")))
    proposal = propose(problem(balanced, "drain", "3", by="bytes,in", tolerance="10%"))
    assert [line for load in proposal.loads for line in load.outside] == []
    assert proposal.moves == proposal.moves_bound
    assert proposal.rack_excess_after == 0


def test_a_higher_factor_keeps_all_ranges() -> None:
    balanced = carried_out(snapshot := large(), propose(problem(snapshot, "balance", by="replicas,load")))
    proposal = propose(problem(balanced, "rf", "4", by="bytes,in", tolerance="10%"))
    assert [line for load in proposal.loads for line in load.outside] == []
    assert proposal.moves == len(balanced.partitions)


def test_only_relieved_brokers_give_and_no_receiver_gets_too_much() -> None:
    snapshot = loaded(cluster("---", (1,), (1,), (1,), (2,), (2,), (3,)), 50, 20, 10, 30, 9, 31)
    proposal = propose(problem(snapshot, "relieve", "1", by="in", tolerance="10%"))
    assert proposal.moves == len(lists(proposal)) == 2
    assert max(each.after for each in proposal.loads[0].brokers) <= 55
    assert not propose(
        problem(carried_out(snapshot, proposal), "relieve", "1", by="in", tolerance="10%")
    ).changes


def test_what_a_broker_sends_is_relieved_by_leaders_alone() -> None:
    snapshot = loaded(cluster("---", (1, 2), (1, 3), (1, 2), (3, 1)), 30, 30, 30, 30)
    proposal = propose(problem(snapshot, "relieve", "1", by="leaders-in", tolerance="50%"))
    assert (proposal.moves, proposal.leader_changes) == (0, 1)


FULL = with_disks(
    loaded(
        cluster("---", (1,), (1,), (1,), (2,), (3,), sizes={0: 40, 1: 30, 2: 10, 3: 10, 4: 10}),
        *(10, 90, 10, 40, 40),
    ),
    dict.fromkeys((1, 2, 3), 100),
)
"""The disks of broker 1 are 80 % full. Of 190 bytes per second, foo-1 has 90."""


@pytest.mark.parametrize(
    ("words", "options"), [(["relieve", "1"], {"relieve_to": "50%"}), ([], {"relieve": "70%:50%"})]
)
def test_disks_are_relieved_where_no_broker_gets_too_much_load(
    words: list[str], options: dict[str, object]
) -> None:
    assert {*lists(propose(problem(FULL, *words, **options)))} == {1}
    found = propose(problem(FULL, *words, **options, by="in"))
    assert {*lists(found)} == {0}  # foo-1 stays where it is, although broker 1 has more than its share.
    assert "broker 1: disks 80.0 % full, then 40.0 %" in found.notes


def test_a_level_that_the_loads_do_not_permit_is_refused() -> None:
    hot = loaded(FULL, 90, 90, 10, 40, 40)
    with pytest.raises(PartialPlanError, match="broker 3 gets 130 B/s of in instead of at most 95 B/s"):
        propose(problem(hot, "relieve", "1", by="in", relieve_to="50%"))


def test_a_broker_without_room_is_relieved_of_loads_too() -> None:
    full = with_disks(loaded(FULL, 30, 30, 10, 10, 10), {1: 80, 2: 100, 3: 100})
    found = propose(problem(full, "relieve", "1", by="in", tolerance="50%"))
    assert "broker 1" not in "".join(found.loads[0].outside)
    assert found.moves == 1


def test_what_finds_no_place_stays_even_if_its_racks_are_not_as_they_should() -> None:
    snapshot = loaded(cluster("abca", (1,), (1,), (1,), (4, 1)), 0, 0, 0, 0)
    full = with_disks(snapshot, {1: 1, 2: 1, 3: 1, 4: 40})
    options = {"by": "in", "relieve_to": "10%", "allow_partial": True}
    assert 0 < propose(problem(full, "relieve", "1", **options)).moves < 4


def test_a_large_broker_is_relieved_of_bytes_near_the_bound() -> None:
    snapshot = large()
    held = {each.broker: each.before.bytes for each in propose(problem(snapshot, "balance")).brokers}
    fullest = max(held, key=held.__getitem__)
    disks = with_disks(snapshot, dict.fromkeys(held, held[fullest] * 10 // 9))
    found = propose(problem(disks, "relieve", str(fullest), by="in,out", relieve_to="75%"))
    assert {each.broker for each in found.brokers if each.losses} == {fullest}
    assert found.bytes_bound <= found.bytes <= 1.01 * found.bytes_bound


def test_a_large_broker_is_relieved_near_the_bound() -> None:
    snapshot = large()
    before = propose(problem(snapshot, "balance", by="in")).loads[0]
    worst = max(before.brokers, key=lambda each: each.before / each.share).broker
    proposal = propose(problem(snapshot, "relieve", str(worst), by="in"))
    gives = {each.broker for each in proposal.brokers if each.losses}
    assert gives == {worst}
    assert proposal.bytes_bound <= proposal.bytes <= 1.1 * proposal.bytes_bound


def test_leaders_alone_are_evened_out_by_what_they_carry() -> None:
    snapshot = loaded(cluster("--", (1, 2), (1, 2), (1, 2), (2, 1)), 60, 30, 10, 20)
    proposal = propose(problem(snapshot, "leaders", by="leaders-in", tolerance="10%"))
    assert (proposal.moves, proposal.leader_changes) == (0, 2)


def test_unknown_rates_are_refused_unless_the_plan_does_not_depend_on_them() -> None:
    snapshot = loaded(cluster("---", (1,), (2,), (3,)), 30, 30, None)
    options = {"by": "in", "partitions": [("foo", 0)]}
    with pytest.raises(ProposalError, match="without its rate of the busy hour: foo-2; --allow-unknown"):
        propose_for(snapshot, read_goal_options(["drain", "1"], options))
    closed = options | {"exclude_brokers": "3", "allow_partial": True}
    found = propose_for(snapshot, read_goal_options(["drain", "1"], closed))
    assert found.notes[-1].endswith("foo-2: they count as 0, as the plan does not depend on them")


@pytest.mark.parametrize(
    ("words", "options", "reason"),
    [
        (["drain", "1"], {"tolerance_of": ["in=5%"]}, "--tolerance-of needs --by, or add or balance"),
        (["drain", "1"], {"at": "mean"}, "--at needs --by, or add or balance"),
        (["drain", "1"], {"by": "bytes", "at": "now"}, "--at needs --by with in, out, leaders-in or cpu"),
        (["demote", "1"], {"by": "out"}, "and demote none"),
        (["leaders"], {"by": "in"}, "leaders takes out, leaders-in or cpu"),
        (
            ["relieve", "1"],
            {"by": "in,bytes", "relieve_to": "50%", "tolerance_of": ["bytes=9%"]},
            "--to and --relieve say how full disks may be",
        ),
        (["balance"], {"by": "cpu", "leaders": "keep"}, "it needs --leaders balance"),
        (["balance"], {"allow_partial": True}, "--allow-partial needs relieve, --relieve or --by"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    words: list[str], options: dict[str, object], reason: str
) -> None:
    with pytest.raises(ProposalError, match=reason):
        read_goal_options(words, options)


@st.composite
def clusters(draw: st.DrawFn) -> Snapshot:
    racks = draw(st.sampled_from(["----", "aabb", "abca", "aaaab"]))
    ids = st.lists(st.integers(1, len(racks)), min_size=1, max_size=3, unique=True)
    members = draw(st.lists(ids, min_size=1, max_size=10))
    sizes = draw(st.dictionaries(st.integers(0, 9), st.integers(0, 50)))
    rates = draw(st.lists(st.integers(0, 50), min_size=len(members), max_size=len(members)))
    return loaded(cluster(racks, *members, sizes=sizes), *rates)


@settings(deadline=None)
@given(clusters(), st.sampled_from(["in", "load", "bytes,cpu"]), st.sampled_from(["drain", "relieve"]))
def test_nothing_moves_but_from_the_brokers_that_are_named(snapshot: Snapshot, by: str, goal: str) -> None:
    try:
        proposal = propose(problem(snapshot, goal, "1", by=by, allow_partial=True))
    except ProposalError:
        return
    for row, replicas in proposal.changes.items():
        assert len(set(replicas)) == len(row.replicas)
        assert {*row.replicas} - {*replicas} <= {1}
    if goal == "drain":
        assert all(each.after.replicas == 0 for each in proposal.brokers if each.broker == 1)
    again = propose(problem(carried_out(snapshot, proposal), goal, "1", by=by, allow_partial=True))
    assert again.moves == 0


@settings(deadline=None)
@given(clusters(), st.integers(10, 90), st.lists(st.integers(1, 400), min_size=5, max_size=5))
def test_relieved_disks_fill_no_other_disk_above_the_level(
    snapshot: Snapshot, level: int, disks: list[int]
) -> None:
    sized = with_disks(snapshot, dict(enumerate(disks, 1)))
    options = {"by": "in", "relieve_to": f"{level}%", "allow_partial": True}
    proposal = propose(problem(sized, "relieve", "1", **options))
    for each in proposal.brokers:
        assert not each.losses or each.broker == 1
        assert not each.gains or each.after.bytes <= disks[each.broker - 1] * level / 100
    assert propose(problem(carried_out(sized, proposal), "relieve", "1", **options)).moves == 0
