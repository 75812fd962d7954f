"""A repair replaces the replicas that are lost, and nothing else."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.model.snapshot import Snapshot
from planner.proposals.problem.goal import ProposalError
from planner.proposals.result import Proposal
from planner.proposals.solver import solve
from planner.proposing import propose_for, read_goal_options
from tests.examples import examples
from tests.planner.proposals.builders import cluster, failing


def repaired(snapshot: Snapshot, **options: Any) -> Proposal:
    return propose_for(snapshot, read_goal_options(["repair"], options))


def lists(proposal: Proposal) -> dict[int, tuple[int, ...]]:
    return {row.partition: replicas for row, replicas in proposal.changes.items()}


def test_each_replica_of_an_offline_broker_gets_another_one() -> None:
    found = repaired(failing(cluster("----", (1, 2), (2, 3), (3, 1)), offline={1}))
    assert lists(found) == {0: (2, 4), 2: (3, 4)}
    assert (found.moves, found.moves_bound, found.bytes, found.bytes_bound) == (2, 2, 2, 2)
    assert found.notes[0] == "broker 1 is offline: 2 replicas"


def test_a_broker_that_is_not_registered_any_more_is_offline() -> None:
    assert lists(repaired(cluster("---", (9, 1), (1, 2)))) in ({0: (1, 2)}, {0: (1, 3)})


def test_nothing_is_lost() -> None:
    found = repaired(failing(cluster("aab", (1, 2), (1, 3)), behind={0: {2}}))
    assert (lists(found), found.notes) == ({}, ())


def test_a_partition_without_another_place_does_not_hinder_the_others() -> None:
    found = repaired(failing(cluster("---", (1, 2, 3), (1, 2)), offline={1}))
    assert lists(found) == {1: (2, 3)}
    [left] = found.left_out
    assert (left.partition, left.reason) == (
        0, "no place for 3 replicas, but the brokers that can hold them are: 2, 3"
    )  # fmt: skip


def test_a_partition_without_a_replica_in_sync_is_left_out() -> None:
    found = repaired(failing(cluster("---", (1,), (1, 2)), offline={1}))
    assert (lists(found), [each.reason for each in found.left_out]) == (
        {1: (2, 3)}, ["all replicas are offline (1)"]
    )  # fmt: skip


def test_a_broker_that_is_waited_for_keeps_its_replicas() -> None:
    both = failing(cluster("-----", (1, 3), (2, 3)), offline={1, 2})
    assert lists(repaired(both, exclude_brokers="1")).keys() == {1}


def test_moves_under_way_matter_only_where_something_is_lost() -> None:
    snapshot = failing(cluster("----", (1, 2), (2, 3)), offline={1})
    moving = snapshot.partitions["foo", 1]._replace(target=(3, 4))
    assert lists(
        repaired(snapshot._replace(partitions=snapshot.partitions | {("foo", 1): moving}))
    ).keys() == {0}


def test_a_rack_takes_the_place_of_another_one_only_if_it_has_to() -> None:
    assert lists(repaired(failing(cluster("abca", (1, 2, 3)), offline={1}))) == {0: (2, 3, 4)}
    assert lists(repaired(failing(cluster("abcb", (1, 2, 3)), offline={1}))) == {0: (2, 3, 4)}


def in_failed_directory(snapshot: Snapshot, broker: int) -> Snapshot:
    rows = {
        key: row._replace(failed=(broker,), isr=tuple(each for each in row.isr if each != broker))
        for key, row in snapshot.partitions.items()
        if broker in row.replicas
    }
    return snapshot._replace(partitions=snapshot.partitions | rows)


@pytest.mark.parametrize("exact_arcs", [solve.EXACT_ARCS, -1])
def test_replicas_of_a_failed_directory_do_not_come_back_to_their_broker(
    exact_arcs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solve, "EXACT_ARCS", exact_arcs)
    snapshot = in_failed_directory(cluster("---", *[(1, 2)] * 6, (2, 3)), 1)
    found = repaired(snapshot)
    assert lists(found) == dict.fromkeys(range(6), (2, 3))
    assert found.notes[0] == "a log directory of broker 1 has failed: 6 replicas"
    assert lists(repaired(snapshot, exclude_brokers="1")) == {}


def test_without_another_broker_a_failed_directory_is_waited_for() -> None:
    [left] = repaired(in_failed_directory(cluster("--", (1, 2)), 1)).left_out
    assert left.reason == "no place for 2 replicas, but the brokers that can hold them are: 2"


def test_a_lower_factor_drops_what_is_in_a_failed_directory() -> None:
    snapshot = in_failed_directory(cluster("---", (1, 2)), 1)
    assert lists(propose_for(snapshot, read_goal_options(["rf", "1"], {}))) == {0: (2,)}


@pytest.mark.parametrize("other", [["racks"], ["drain", "1"], ["balance"]])
def test_a_repair_is_not_combined(other: list[str]) -> None:
    with pytest.raises(ProposalError, match="repair moves nothing else: it cannot be combined with"):
        read_goal_options(["repair", *other], {})


@st.composite
def lossy(draw: st.DrawFn) -> Snapshot:
    count = draw(st.integers(4, 8))
    racks = draw(st.sampled_from(["-", "ab", "abc"]))
    ids = st.lists(st.integers(1, count), min_size=1, max_size=3, unique=True)
    every = draw(st.lists(ids, min_size=1, max_size=12))
    offline = draw(st.frozensets(st.integers(1, count), min_size=1, max_size=2))
    behind = draw(st.dictionaries(st.integers(0, 11), st.frozensets(st.integers(1, count), max_size=2)))
    letters = "".join(racks[each % len(racks)] for each in range(count))
    return failing(cluster(letters, *every), offline, behind)


@given(lossy())
@settings(max_examples=examples(150), deadline=None)
def test_live_replicas_stay_and_lost_ones_are_replaced(snapshot: Snapshot) -> None:
    found = repaired(snapshot)
    live = {each for each, broker in snapshot.brokers.items() if broker.live}
    lost = 0
    for row, replicas in found.changes.items():
        assert live & {*row.replicas} <= {*replicas} <= live
        assert len(replicas) == len(row.replicas)
        lost += len({*row.replicas} - live)
    assert found.moves == found.moves_bound == lost
    left = {each.partition for each in found.left_out}
    for _, number in snapshot.partitions.keys() - {row[:2] for row in found.changes}:
        assert number in left or {*snapshot.partitions["foo", number].replicas} <= live
