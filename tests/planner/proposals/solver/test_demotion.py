from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from planner.model.snapshot import Snapshot
from planner.proposals.result import Proposal
from planner.proposing import propose_for, read_goal_options
from tests.planner.proposals.builders import carried_out, cluster, failing


def demoted(snapshot: Snapshot, brokers: str, *words: str, **options: Any) -> Proposal:
    return propose_for(snapshot, read_goal_options(["demote", brokers, *words], options))


def lists(proposal: Proposal) -> dict[int, tuple[int, ...]]:
    return {row.partition: replicas for row, replicas in proposal.changes.items()}


def reasons(proposal: Proposal) -> dict[int, str]:
    return {each.partition: each.reason for each in proposal.left_out}


def led_by(snapshot: Snapshot, leader: int) -> Snapshot:
    rows = snapshot.partitions.items()
    return snapshot._replace(partitions={key: row._replace(leader=leader) for key, row in rows})


def test_a_demoted_broker_leads_nothing_and_keeps_its_replicas() -> None:
    proposal = demoted(cluster("abc", (1, 2, 3), (1, 3, 2), (2, 1, 3)), "1")
    assert lists(proposal) == {0: (3, 2, 1), 1: (3, 2, 1)} or lists(proposal) == {0: (2, 3, 1), 1: (3, 2, 1)}
    assert (proposal.moves, proposal.bytes, proposal.leader_changes) == (0, 0, 2)


def test_those_who_take_over_get_as_many_leaders() -> None:
    proposal = demoted(cluster("abcd", *[(1, 2, 3, 4)] * 6), "1")
    assert [each.after.leaders for each in proposal.brokers] == [0, 2, 2, 2]


def test_leaders_that_others_have_count() -> None:
    proposal = demoted(cluster("abc", (1, 2, 3), (1, 2, 3), (2, 1, 3), (2, 3, 1)), "1")
    assert [each.after.leaders for each in proposal.brokers] == [0, 2, 2]


def test_with_balance_the_leaders_of_the_others_are_evened_out_too() -> None:
    snapshot = cluster("abc", (1, 2), (2, 3), (2, 3), (2, 3))
    kept, even = demoted(snapshot, "1"), demoted(snapshot, "1", leaders="balance")
    assert [each.after.leaders for each in kept.brokers] == [0, 4, 0]
    assert [each.after.leaders for each in even.brokers] == [0, 2, 2]


def test_two_brokers_are_demoted_at_once() -> None:
    proposal = demoted(cluster("abc", (1, 2, 3), (2, 1, 3), (3, 1, 2)), "1,2")
    assert lists(proposal) == {0: (3, 1, 2), 1: (3, 2, 1)}


def test_the_broker_that_leads_now_is_named_where_nobody_can_take_over() -> None:
    snapshot = led_by(failing(cluster("abc", (1, 3)), offline={1}), 3)
    assert reasons(demoted(snapshot, "1,3"))[0].startswith("led by broker 3, ")
    assert reasons(demoted(snapshot, "3"))[0].startswith("led by broker 3, none of whose other replicas")


def test_a_replica_that_is_not_in_sync_does_not_take_over() -> None:
    proposal = demoted(failing(cluster("abc", (1, 2, 3)), behind={0: {2}}), "1")
    assert lists(proposal) == {0: (3, 2, 1)}


def test_partitions_without_a_successor_are_named() -> None:
    snapshot = failing(cluster("abc", (1,), (1, 2), (1, 3), (1, 2, 3)), offline={2}, behind={2: {3}})
    proposal = demoted(snapshot, "1,3")
    assert not proposal.changes
    assert reasons(proposal) == {
        0: "led by broker 1, which has the only replica",
        1: "led by broker 1, none of whose other replicas can take over: they are not in sync, or are"
        " demoted",
        2: "led by broker 1, all of whose replicas are on demoted brokers",
        3: "led by broker 1, none of whose other replicas can take over: they are not in sync, or are"
        " demoted",
    }


def test_demoting_all_brokers_changes_nothing_and_names_all() -> None:
    proposal = demoted(cluster("ab", (1, 2), (2, 1)), "1,2")
    assert (lists(proposal), len(proposal.left_out)) == ({}, 2)


def test_a_broker_that_leads_without_being_preferred_is_demoted_by_an_election() -> None:
    proposal = demoted(led_by(cluster("ab", (1, 2)), 2), "2")
    assert (lists(proposal), proposal.elections, proposal.leader_changes) == ({0: (1, 2)}, 1, 0)


def test_it_becomes_the_last_of_the_list_if_it_is_not() -> None:
    proposal = demoted(led_by(cluster("abc", (1, 2, 3)), 2), "2")
    assert (lists(proposal), proposal.elections) == ({0: (1, 3, 2)}, 0)


def test_a_follower_is_left_where_it_is() -> None:
    assert not demoted(cluster("abc", (1, 2, 3)), "2,3").changes


def test_a_drained_broker_hands_over_to_none_that_is_demoted() -> None:
    proposal = demoted(cluster("abcd", (1, 2, 3), (1, 2, 3)), "2", "drain", "1")
    assert all(replicas[0] in {3, 4} for replicas in lists(proposal).values())
    assert {*lists(proposal)} == {0, 1}


def test_the_same_plan_again_is_empty() -> None:
    snapshot = cluster("abc", (1, 2, 3), (1, 3, 2), (2, 1, 3))
    assert not demoted(carried_out(snapshot, demoted(snapshot, "1")), "1").changes


replica_lists = st.lists(st.integers(1, 5), min_size=1, max_size=4, unique=True)


@given(
    st.lists(replica_lists, min_size=1, max_size=12),
    st.sets(st.integers(1, 5), min_size=1, max_size=4),
    st.sets(st.integers(1, 5), max_size=2),
    st.booleans(),
    st.data(),
)
def test_no_set_changes_and_leaders_are_elsewhere(
    replicas: list[list[int]], demote: set[int], offline: set[int], even: bool, data: st.DataObject
) -> None:
    """A partition is led by another broker if one can; otherwise it is named and stays as it is."""
    behind = {number: data.draw(st.sets(st.sampled_from(each))) for number, each in enumerate(replicas)}
    snapshot = failing(cluster("aabbc", *replicas), offline=offline, behind=behind)
    leading = {key: data.draw(st.sampled_from(row.isr)) for key, row in snapshot.partitions.items()}
    snapshot = snapshot._replace(
        partitions={key: row._replace(leader=leading[key]) for key, row in snapshot.partitions.items()}
    )
    options = {"leaders": "balance"} if even else {}
    proposal = demoted(snapshot, ",".join(map(str, demote)), **options)
    changes, named = lists(proposal), reasons(proposal)
    assert proposal.moves == 0
    for (_, number), row in snapshot.partitions.items():
        after = changes.get(number, row.replicas)
        in_sync = {each for each in row.isr if each not in offline}
        if not in_sync:
            assert number in named
            assert number not in changes
            continue
        assert sorted(after) == sorted(row.replicas)
        leads = row.replicas[0] in demote or row.leader in demote
        successors = in_sync - demote
        if leads and not successors:
            assert number in named
            assert after == row.replicas
        elif leads:
            assert number not in named
            assert after[0] in successors
            assert number in changes
            held = [each for each in after if each in demote]
            assert list(after[len(after) - len(held) :]) == held
        elif not even:
            assert number not in changes
