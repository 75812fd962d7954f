"""Replication factors of topics by name."""

import pytest

from planner.model.snapshot import Snapshot
from planner.proposals.problem.goal import ProposalError
from planner.proposing import propose_for, read_goal_options
from tests.planner.proposals.builders import cluster


def topics(*names: str) -> Snapshot:
    """Return a cluster of four brokers, with a topic of one partition on brokers 1 and 2 for each name."""
    row = cluster("----", (1, 2)).partitions["foo", 0]
    return cluster("----")._replace(partitions={(name, 0): row._replace(topic=name) for name in names})


def lengths(snapshot: Snapshot, *words: str, topics: str | None = None) -> dict[str, int]:
    """Return the new number of replicas of each topic that changes."""
    proposal = propose_for(snapshot, read_goal_options(words, {"topics": topics}))
    return {row.topic: len(replicas) for row, replicas in proposal.changes.items()}


def refusal(snapshot: Snapshot, *words: str) -> list[str]:
    with pytest.raises(ProposalError) as raised:
        lengths(snapshot, *words)
    return raised.value.reasons


def test_topics_get_different_factors_in_one_plan() -> None:
    found = lengths(topics("logs-a", "logs-b", "orders", "other"), "rf", "1:logs-.*", "3:orders")
    assert found == {"logs-a": 1, "logs-b": 1, "orders": 3}


def test_of_the_chosen_topics_only() -> None:
    assert lengths(topics("logs-a", "logs-b"), "rf", "1:logs-.*", topics=".*-b") == {"logs-b": 1}


def test_other_goals_concern_all_topics() -> None:
    assert lengths(topics("a", "b"), "rf", "3:a", "drain", "1") == {"a": 3, "b": 2}


def test_a_whole_name_has_to_match() -> None:
    assert refusal(topics("orders"), "rf", "3:order") == ["no topic of the cluster is chosen by rf 3:order"]


def test_a_topic_with_two_factors_is_named() -> None:
    assert refusal(topics("ab"), "rf", "3:a.*", "1:.*b") == [
        "topic ab has two factors: rf 3:a.* and rf 1:.*b"
    ]
    assert lengths(topics("ab"), "rf", "3:a.*", "3:.*b") == {"ab": 3}


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["rf", "3", "2:b"], "rf '3' is a factor of all topics: leave out those of some topics"),
        (["rf", "0:b"], "rf '0': expected a replication factor from 1"),
        (
            ["rf", "3:("],
            "rf 3: '(' is not a regular expression: missing ), unterminated subpattern at position 0",
        ),
        (
            ["rf"],
            "rf needs a replication factor, such as rf 3, or factors of topics, such as rf 3:'a.*' 2:'b.*'",
        ),
    ],
)
def test_bad_factors_are_refused(words: list[str], reason: str) -> None:
    assert refusal(topics("a", "b"), *words) == [reason]
