"""`relieve`: take load off brokers whose disks are too full."""

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.model.snapshot import Snapshot, packed
from planner.proposals.problem.goal import Goal, ProposalError, problem_of
from planner.proposals.result import PartialPlanError, Proposal
from planner.proposals.solver import relief
from planner.proposing import propose, propose_for, read_goal_options
from tests.examples import examples
from tests.planner.proposals.builders import carried_out, cluster


def with_disks(snapshot: Snapshot, disks: Mapping[int, int]) -> Snapshot:
    """Return the cluster with disks of these sizes."""
    nodes = {
        number: broker._replace(disk_bytes=disks.get(number)) for number, broker in snapshot.brokers.items()
    }
    return snapshot._replace(brokers=nodes)


def proposed(snapshot: Snapshot, *goals: str, **options: object) -> Proposal:
    return propose_for(snapshot, read_goal_options(goals, options))


FULL = with_disks(
    cluster("----", [1, 2], [1, 3], [1, 2], [1], sizes={0: 50, 1: 30, 2: 8, 3: 2}),
    {1: 100, 2: 100, 3: 100, 4: 100},
)
"""Broker 1 is 90 % full."""


def test_a_full_broker_sheds_as_little_as_possible() -> None:
    found = proposed(FULL, "relieve", "1", relieve_to="80%")
    assert (found.bytes, found.bytes_bound, found.moves) == (10, 10, 2)
    assert {row.partition for row in found.changes} == {2, 3}
    assert found.notes[0] == "broker 1: disks 90.0 % full, then 80.0 %"


def test_few_moves_can_be_asked_for_instead() -> None:
    found = proposed(FULL, "relieve", "1", relieve_to="80%", minimize="moves")
    assert (found.moves, found.moves_bound, found.bytes) == (1, 1, 30)


def test_only_brokers_above_a_level_are_relieved() -> None:
    assert proposed(FULL, relieve="90%:50%").moves == 0
    assert {each.broker for each in proposed(FULL, relieve="85%:80%").brokers if each.losses} == {1}


def test_what_leaves_is_what_the_broker_has_and_what_is_copied_is_the_leaders() -> None:
    row = FULL.partitions["foo", 1]._replace(
        replicas=(3, 1), isr=(3, 1), leader=3, packed_sizes=packed((3, 30)), bytes=3
    )
    snapshot = FULL._replace(partitions={**FULL.partitions, ("foo", 1): row})
    found = proposed(snapshot, "relieve", "1", relieve_to="80%")
    assert (found.bytes, found.moves, {each.broker: each.after.bytes for each in found.brokers}[1]) == (
        3,
        1,
        60,
    )


def test_no_receiver_becomes_fuller_than_the_level() -> None:
    small = with_disks(FULL, {1: 100, 2: 78, 3: 48, 4: 4})
    found = proposed(small, "relieve", "1", relieve_to="80%")
    held = {each.broker: each.after.bytes for each in found.brokers}
    assert all(held[broker] <= size * 0.8 for broker, size in {1: 100, 2: 78, 3: 48, 4: 4}.items())


def test_a_level_that_no_plan_reaches_needs_consent() -> None:
    tight = with_disks(FULL, {1: 100, 2: 60, 3: 40, 4: 6})
    with pytest.raises(PartialPlanError) as refused:
        proposed(tight, "relieve", "1", relieve_to="80%")
    assert refused.value.reasons == [
        "broker 1 stays 88.0 % full instead of 80 %: no other replica of it fits below 80 % elsewhere",
        "--allow-partial accepts a plan that comes as near as possible",
    ]
    accepted = proposed(tight, "relieve", "1", relieve_to="80%", allow_partial=True)
    assert accepted.changes == refused.value.proposal.changes
    assert accepted.notes[-1] == refused.value.reasons[0]


@pytest.mark.parametrize(
    ("goals", "options", "message"),
    [
        (["relieve", "9"], {}, "broker 9 is not in the cluster"),
        (["relieve", "1", "drain", "2"], {}, "relieve moves nothing else: it cannot be combined with drain"),
        (["relieve", "1"], {"relieve_to": "120%"}, "--to '120%': expected a percentage below 100%"),
        ([], {"relieve": "85%"}, "--relieve '85%': expected OVER:TO without --to, such as 85%:75%"),
        ([], {"relieve": "70%:75%"}, "the second level must not be above the first"),
        (["balance"], {"relieve_to": "75%"}, "--to needs relieve, or --relieve"),
    ],
)
def test_bad_input_is_named(goals: list[str], options: dict[str, object], message: str) -> None:
    with pytest.raises(ProposalError, match=message):
        proposed(FULL, *goals, **options)


def test_a_broker_whose_disks_are_not_known_cannot_be_relieved() -> None:
    with pytest.raises(ProposalError, match="broker 1 does not report how full the disks are"):
        proposed(with_disks(FULL, {2: 100}), "relieve", "1")
    with pytest.raises(ProposalError, match="brokers 1, 2, 3, 4 do not report how full the disks are"):
        proposed(with_disks(FULL, {}), relieve="85%:75%")
    found = proposed(with_disks(FULL, {1: 100, 3: 100}), relieve="85%:80%")
    assert found.notes[-2] == "left as they are: brokers 2, 4 do not report how full the disks are"
    assert not any(each.gains for each in found.brokers if each.broker in {2, 4})


@pytest.mark.parametrize("minimize", ["bytes", "moves"])
def test_many_replicas_leave_by_size(minimize: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relief, "EXACT_CHOICES", -1)
    sizes = {number: 1 + number * 37 % 101 for number in range(60)}
    lists = [[1, 2 + number % 3] for number in range(60)]
    whole = with_disks(cluster("------", *lists, sizes=sizes), dict.fromkeys(range(1, 7), 3_400))
    found = proposed(whole, "relieve", "1", relieve_to="60%", minimize=minimize)
    assert found.bytes <= found.bytes_bound * 1.02 if minimize == "bytes" else found.fewest_moves_proven


@pytest.mark.parametrize(("option", "most"), [("max_moves", 3), ("max_bytes", "150")])
def test_many_replicas_leave_within_the_budget(
    option: str, most: int | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relief, "EXACT_CHOICES", -1)
    lists = [[1, 2 + number % 3] for number in range(60)]
    sizes = {number: 1 + number * 37 % 101 for number in range(60)}
    whole = with_disks(cluster("------", *lists, sizes=sizes), dict.fromkeys(range(1, 7), 3_400))
    found = proposed(whole, "relieve", "1", relieve_to="60%", allow_partial=True, **{option: most})
    used = found.moves if option == "max_moves" else found.bytes
    assert 0 < used <= int(most)
    assert "broker 1 stays" in found.notes[-1]


@st.composite
def full_clusters(draw: st.DrawFn) -> tuple[Snapshot, Goal]:
    """Draw up to five brokers, of which some are too full, and a goal."""
    count = draw(st.integers(3, 5))
    ids = st.lists(st.integers(1, count), min_size=1, max_size=3, unique=True)
    lists = draw(st.lists(ids, min_size=1, max_size=5))
    sizes = draw(st.lists(st.integers(1, 40), min_size=len(lists), max_size=len(lists)))
    racks = draw(st.sampled_from(["-----", "ababa"]))[:count]
    snapshot = cluster(racks, *lists, sizes=dict(enumerate(sizes)))
    rows = {}
    for key, row in snapshot.partitions.items():
        own = draw(st.tuples(*[st.integers(0, 50)] * len(row.replicas)))
        rows[key] = row._replace(packed_sizes=packed(own) if draw(st.booleans()) else None)
    disks = {each: draw(st.integers(40, 120)) for each in range(1, count + 1)}
    minimize = draw(st.booleans())
    goal = Goal(
        relieve_over=Fraction(3, 4),
        relieve_to=Fraction(7, 10),
        allow_partial=True,
        headroom=Fraction(0),
        minimize="bytes" if minimize else "moves",
    )
    return with_disks(snapshot._replace(partitions=rows), disks), goal


def held_by(snapshot: Snapshot, changes: Mapping[tuple[str, int], tuple[int, ...]]) -> Counter[int]:
    held = Counter[int]()
    for key, row in snapshot.partitions.items():
        for broker in changes.get(key, row.replicas):
            held[broker] += row.size_on(broker)
    return held


@settings(max_examples=examples(60))
@given(full_clusters(), st.booleans())
def test_nothing_but_replicas_of_full_brokers_moves(drawn: tuple[Snapshot, Goal], exact: bool) -> None:
    snapshot, goal = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relief, "EXACT_CHOICES", relief.EXACT_CHOICES if exact else -1)
        found = propose(problem_of(snapshot, goal))
    disks = {each: broker.disk_bytes or 0 for each, broker in snapshot.brokers.items()}
    before = held_by(snapshot, {})
    full = {broker for broker, size in disks.items() if before[broker] > size * Fraction(3, 4)}
    changes = {row[:2]: replicas for row, replicas in found.changes.items()}
    after = held_by(snapshot, changes)
    for row, replicas in found.changes.items():
        assert set(row.replicas) - set(replicas) <= full
        assert len(replicas) == len(row.replicas)
        assert not (set(replicas) - set(row.replicas)) & full
    receivers = {each.broker for each in found.brokers if each.gains}
    assert all(after[each] <= disks[each] * Fraction(7, 10) for each in receivers)
    reached = all(after[each] <= disks[each] * Fraction(7, 10) for each in full)
    if reached:
        assert found.bytes >= found.bytes_bound
        assert found.moves >= (0 if goal.minimize == "bytes" else found.moves_bound)


def least(snapshot: Snapshot, goal: Goal) -> tuple[int, int] | None:
    """Return the least cost of a plan that relieves all brokers, by trying all; None if none does."""
    disks = {each: broker.disk_bytes or 0 for each, broker in snapshot.brokers.items()}
    before = held_by(snapshot, {})
    full = {broker for broker, size in disks.items() if before[broker] > size * Fraction(3, 4)}
    slots = [
        (key, broker) for key, row in snapshot.partitions.items() for broker in row.replicas if broker in full
    ]
    best: tuple[int, int] | None = None
    for targets in product([0, *sorted(disks.keys() - full)], repeat=len(slots)):
        lists = {key: list(row.replicas) for key, row in snapshot.partitions.items()}
        for (key, broker), target in zip(slots, targets, strict=True):
            if target:
                lists[key][lists[key].index(broker)] = target
        if any(len(set(each)) < len(each) for each in lists.values()):
            continue
        changes = {key: tuple(each) for key, each in lists.items()}
        after = held_by(snapshot, changes)
        gained = {target for target in targets if target} | full
        if all(after[each] <= disks[each] * Fraction(7, 10) for each in gained):
            copied = sum(
                snapshot.partitions[key].size for (key, _), each in zip(slots, targets, strict=True) if each
            )
            moves = sum(map(bool, targets))
            cost = (copied, moves) if goal.minimize == "bytes" else (moves, copied)
            best = cost if best is None else min(best, cost)
    return best


@settings(max_examples=examples(60))
@given(full_clusters())
def test_small_plans_are_the_cheapest_of_all(drawn: tuple[Snapshot, Goal]) -> None:
    snapshot, goal = drawn
    plain = snapshot._replace(
        brokers={each: broker._replace(rack=None) for each, broker in snapshot.brokers.items()},
        partitions=dict(list(snapshot.partitions.items())[:4]),
    )
    wanted = least(plain, goal)
    found = propose(problem_of(plain, goal))
    if wanted is not None:
        cost = (found.bytes, found.moves) if goal.minimize == "bytes" else (found.moves, found.bytes)
        assert cost == wanted
        assert found.bytes_bound <= found.bytes
        assert (found.fewest_bytes_proven, found.fewest_moves_proven)[goal.minimize == "moves"]


@settings(max_examples=examples(60))
@given(full_clusters())
def test_a_relieved_cluster_needs_no_further_plan(drawn: tuple[Snapshot, Goal]) -> None:
    snapshot, goal = drawn
    found = propose(problem_of(snapshot, goal))
    again = propose(problem_of(carried_out(snapshot, found), goal))
    if not any("stays" in note for note in found.notes):
        assert again.moves == 0
