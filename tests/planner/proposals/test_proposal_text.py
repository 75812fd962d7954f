import json
from fractions import Fraction

from planner.model.snapshot import Snapshot
from planner.proposals.problem.goal import Goal, problem_of
from planner.proposals.proposal_text import as_dict, broker_rows, plan_json, rollback_json, summary
from planner.proposals.result import Proposal
from planner.proposing import propose
from tests.planner.proposals.builders import cluster, failing

DRAIN = Goal(drain=frozenset({1}))


def drained(snapshot: Snapshot) -> Proposal:
    return propose(problem_of(snapshot, DRAIN))


def test_the_plan_has_the_format_of_the_stock_tool() -> None:
    proposal = drained(cluster("---", (1, 2)))
    assert json.loads(plan_json(proposal.changes)) == {
        "version": 1,
        "partitions": [{"topic": "foo", "partition": 0, "replicas": [2, 3]}],
    }
    assert json.loads(rollback_json(proposal.changes))["partitions"][0]["replicas"] == [1, 2]


def test_the_summary_gives_moves_and_bytes() -> None:
    assert summary(drained(cluster("---", (1, 2), sizes={0: 2048}))) == [
        "moves 1 replica (2 KiB); no plan can do with fewer",
        "changes the replica lists of 1 partition, and 1 preferred leader",
    ]


def test_nothing_to_move_is_said() -> None:
    assert summary(drained(cluster("---", (2, 3)))) == ["nothing to move: the cluster meets the goal"]


def test_partitions_that_are_left_out_are_grouped_by_reason() -> None:
    problem = problem_of(cluster("---", (1, 2), (1, 3)), DRAIN, moving={("foo", 0), ("foo", 1)})
    assert summary(propose(problem)) == [
        "nothing to move: the other partitions meet the goal",
        "left out, being reassigned: 2 partitions: foo-0, foo-1",
    ]


def test_an_uneven_broker_is_named() -> None:
    problem = problem_of(cluster("aaa", (1, 2), (2, 3)), Goal(even_counts=True, weights={1: Fraction(10)}))
    assert any("no other place" in line for line in summary(propose(problem)))


def test_racks_are_counted_before_and_after() -> None:
    problem = problem_of(cluster("aab", (1, 2)), Goal(repair_racks=True))
    assert "racks: 1 replica against the rack rule before, 0 after" in summary(propose(problem))


def test_each_broker_is_shown_before_and_after() -> None:
    rows = list(broker_rows(drained(cluster("---", (1, 2)))))
    assert rows[0] == ("1", "-", "1 → 0", "1 → 0", "1 B → 0 B", "+0 −1")


def test_offline_brokers_are_marked_and_lost_replicas_in_sync_are_counted() -> None:
    state = failing(cluster("aab", (1, 2, 3), (1, 2, 3)), behind={0: {3}})
    proposal = propose(problem_of(failing(state, {2}), Goal(factor=1)))
    assert [row[0] for row in broker_rows(proposal)] == ["1", "2 (offline)", "3"]
    assert not any("in sync" in line for line in summary(propose(problem_of(state, Goal(repair_racks=True)))))
    lost = propose(problem_of(state, Goal(factor=2)))
    assert "2 partitions would lose a replica in sync, 1 of them keeps one that is not in sync" in summary(
        lost
    )
    assert as_dict(lost)["in_sync_loss"] == {"partitions": 2, "keeping_others": 1}


def test_a_factor_below_min_insync_replicas_is_said() -> None:
    state = cluster("---", (1, 2, 3))
    state.partitions["foo", 0] = state.partitions["foo", 0]._replace(min_isr=2)
    allowed, refused = (propose(problem_of(state, Goal(factor=factor))) for factor in (2, 1))
    assert not any("min.insync" in line for line in summary(allowed))
    assert any("1 partition would have fewer replicas than min.insync" in line for line in summary(refused))
    assert as_dict(refused)["below_min_isr"] == 1


def test_the_json_has_all_figures() -> None:
    figures = as_dict(drained(cluster("---", (1, 2))))
    assert (figures["moves"], figures["partitions"], figures["brokers"][2]["gains"]) == (1, 1, 1)
    assert figures["plan"]["partitions"] == [{"topic": "foo", "partition": 0, "replicas": [2, 3]}]


def test_a_bound_is_given_where_the_moves_are_not_proven() -> None:
    proposal = drained(cluster("---", (1, 2)))
    for bound, words in ((1, "; no plan can do with fewer"), (0, "")):
        assert summary(proposal._replace(moves_bound=bound))[0] == f"moves 1 replica (1 B){words}"
    assert summary(proposal._replace(moves=3, moves_bound=2))[0].endswith("fewer than 2")


def test_a_lower_factor_only_drops() -> None:
    proposal = propose(problem_of(cluster("--", (1, 2), (2, 1)), Goal(factor=1)))
    assert summary(proposal)[0] == "moves no replica; drops 2 replicas"
