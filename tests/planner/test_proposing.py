import re
from fractions import Fraction
from typing import Any

import pytest

from planner.model.snapshot import Snapshot
from planner.proposals.problem.goal import ProposalError
from planner.proposing import (
    WITH_VALUE,
    WITHOUT_VALUE,
    broker_ids,
    propose_for,
    read_bytes,
    read_goal,
    read_goal_options,
    read_tolerance,
    read_weights,
)
from tests.planner.proposals.builders import cluster


def lists(snapshot: Snapshot, *words: str, **options: Any) -> dict[int, tuple[int, ...]]:
    """Return the new replicas by number of the partition."""
    proposal = propose_for(snapshot, read_goal_options(words, options))
    return {row.partition: replicas for row, replicas in proposal.changes.items()}


def moving(snapshot: Snapshot, *numbers: int) -> Snapshot:
    rows = snapshot.partitions
    changed = {("foo", number): rows["foo", number]._replace(target=(9,)) for number in numbers}
    return snapshot._replace(partitions=rows | changed)


def refusal(snapshot: Snapshot, *words: str, **options: Any) -> str:
    with pytest.raises(ProposalError) as raised:
        lists(snapshot, *words, **options)
    [reason] = raised.value.reasons
    return reason


def test_options_have_the_names_of_the_command() -> None:
    lopsided = cluster("---", *[(1,)] * 4)
    assert lists(lopsided, "drain", "1", exclude_brokers="2") == dict.fromkeys(range(4), (3,))
    assert len(lists(lopsided, "balance", max_moves=1)) == 1
    goal_options = read_goal_options(
        ["rf", "2"], {"leaders": "balance", "weights": ["1=0.5"], "fix_racks": True}
    )
    assert (goal_options.goal.even_leaders, goal_options.goal.repair_racks, goal_options.goal.weights) == (
        True,
        True,
        {1: Fraction(1, 2)},
    )


def test_only_chosen_partitions_change() -> None:
    snapshot = cluster("---", *[(1,)] * 4)
    assert lists(snapshot, "drain", "1", partitions=[["foo", 2]], exclude_brokers="2") == {2: (3,)}
    assert lists(snapshot, "rf", "2", partitions=[("foo", 0)]).keys() == {0}
    assert refusal(snapshot, "rf", "2", partitions=[("foo", 9)]) == (
        "partition foo-9 is not in the cluster, or its topic is not chosen"
    )


def test_moves_of_others_do_not_hinder_chosen_partitions() -> None:
    snapshot = moving(cluster("---", *[(1,)] * 4), 0)
    assert lists(snapshot, "drain", "1", partitions=[("foo", 2)], exclude_brokers="2") == {2: (3,)}


def test_options_about_bytes_and_disks_are_read() -> None:
    given = {
        "by": "both",
        "byte_tolerance": "2%",
        "max_bytes": "1.5GiB",
        "headroom": "20%",
        "strict_racks": True,
    }
    goal = read_goal_options(["balance"], given).goal
    assert (goal.by, goal.byte_tolerance, goal.max_bytes) == ("both", Fraction(1, 50), 3 * 2**29)
    assert (goal.headroom, goal.strict_racks) == (Fraction(1, 5), True)


@pytest.mark.parametrize(("text", "size"), [("7", 7), ("7B", 7), ("2 KB", 2_000), ("1TiB", 2**40)])
def test_sizes_have_units(text: str, size: int) -> None:
    assert read_bytes(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "-1", "1 XB", "1gib"])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(ProposalError, match="expected a number of bytes, such as 500GiB"):
        read_bytes(text)


def test_a_bad_percentage_is_named_with_its_option() -> None:
    with pytest.raises(ProposalError, match="--headroom 'x': expected a percentage"):
        read_goal_options(["balance"], {"headroom": "x"})


def test_a_snapshot_with_a_hole_is_refused() -> None:
    snapshot = cluster("--", (1,), (1,), (1,))
    del snapshot.partitions["foo", 1]
    expected = "the snapshot is not complete: topic foo has no partition 1; take a new snapshot"
    assert refusal(snapshot, "drain", "1") == expected


@pytest.mark.parametrize("racks", ["---", "abc"])
def test_a_failed_broker_that_is_not_listed_is_drained(racks: str) -> None:
    assert lists(cluster(racks, (9, 1), (1, 2)), "drain", "9")[0][0] == 1
    assert refusal(cluster(racks, (1, 2)), "drain", "9") == "broker 9 is not in the cluster"


def test_moves_under_way_are_refused_and_named() -> None:
    snapshot = moving(cluster("--", (1,), (1,), (1,)), 1, 2)
    reason = refusal(snapshot, "drain", "1")
    assert reason.startswith("foo-1 and 1 more partition are being reassigned or queued; wait for the end")
    assert refusal(moving(snapshot, 0), "drain", "1").startswith("foo-0 and 2 more partitions are")
    assert refusal(moving(cluster("--", (1,)), 0), "drain", "1").startswith("foo-0 is being reassigned")


def test_moves_under_way_can_be_left_out() -> None:
    snapshot = moving(cluster("--", (1,), (1,)), 1)
    assert lists(snapshot, "drain", "1", skip_moving=True) == {0: (2,)}


def test_moves_of_other_topics_do_not_matter() -> None:
    snapshot = moving(cluster("--", (1,)), 0)
    bar = snapshot.partitions["foo", 0]._replace(topic="bar", target=None)
    snapshot.partitions["bar", 0] = bar
    assert lists(snapshot, "drain", "1", topics="bar") == {0: (2,)}


def test_patterns_that_choose_no_topic_are_refused() -> None:
    assert (
        refusal(cluster("--", (1,)), "drain", "1", topics="bar")
        == "no topic of the cluster is chosen by --topics 'bar'"
    )


def test_goals_are_combined() -> None:
    goal = read_goal(["drain", "7,8", "add", "31"])
    assert (goal.drain, goal.add) == (frozenset({7, 8}), frozenset({31}))
    assert goal.even_counts
    assert goal.even_leaders


def test_a_drain_alone_balances_nothing() -> None:
    goal = read_goal(["drain", "7"])
    assert not goal.even_counts
    assert not goal.even_leaders


def test_a_factor_is_read() -> None:
    assert read_goal(["rf", "3"]).factor == 3


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            ["fly"],
            "unknown goal 'fly'; expected " + ", ".join((*WITH_VALUE, *WITHOUT_VALUE, "disks")),
        ),
        (["drain"], "drain needs broker ids, such as drain 3,4"),
        (["drian", "3"], "unknown goal 'drian'; did you mean drain?"),
        (["drain", "1,x"], "drain '1,x': expected different broker ids, separated by commas"),
        (["balance", "balance"], "balance is given twice"),
        (["drain", "1", "add", "1"], "broker 1 cannot be both drained and added"),
        (
            ["drain", "1,2", "demote", "2"],
            "broker 2 is drained: it leads nothing afterwards; do not demote it",
        ),
        (["rf", "0"], "rf '0': expected a replication factor from 1"),
    ],
)
def test_bad_goals_are_named(words: list[str], reason: str) -> None:
    with pytest.raises(ProposalError, match=f"^{re.escape(reason)}$"):
        read_goal(words)


def test_a_tolerance_is_a_percentage_or_a_fraction() -> None:
    assert read_tolerance("5%") == read_tolerance("0.05") == Fraction(1, 20)
    with pytest.raises(ProposalError, match="tolerance '120%'"):
        read_tolerance("120%")


def test_weights_are_exact_fractions() -> None:
    assert read_weights(["7=0.5", "8=2"]) == {7: Fraction(1, 2), 8: 2}
    with pytest.raises(ProposalError, match="weight '7=0'"):
        read_weights(["7=0"])


def test_the_same_broker_twice_is_refused() -> None:
    with pytest.raises(ProposalError, match="different broker ids"):
        broker_ids("drain", "1,1")
