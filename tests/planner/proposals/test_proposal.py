import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.model.snapshot import Broker, Partition, Snapshot
from planner.proposals.problem.goal import Goal, Problem, ProposalError, problem_of
from planner.proposals.problem.nodes import RackRule
from planner.proposals.result import Proposal
from planner.proposals.solver import solve
from planner.proposing import propose
from tests.examples import examples
from tests.planner.proposals.builders import applied, cluster, problems
from tools.proposal_oracle_input import for_oracle

CASES = [json.loads(line) for line in Path(__file__).with_name("cases.jsonl").read_text("utf-8").splitlines()]
ORACLE_PROBLEMS = 500
SHARE_PROBLEMS = 100


def case_problem(case: dict[str, Any]) -> Problem:
    rows = case["partitions"]
    snapshot = Snapshot(
        {
            each["id"]: Broker(each["id"], each.get("rack"), each.get("live", True))
            for each in case["brokers"]
        },
        {
            (each["topic"], each["partition"]): Partition(
                each["topic"],
                each["partition"],
                tuple(each["replicas"]),
                tuple(each["replicas"]),
                each["replicas"][0],
                each["bytes"],
            )
            for each in rows
        },
    )
    job = case["job"]
    goal = Goal(
        drain=frozenset(job.get("drain", ())),
        factor=job.get("rf"),
        even_counts="balance" in job,
        repair_racks=job["kind"] != "leaders",
        even_leaders=bool(job.get("leaders")),
    )
    return problem_of(snapshot, goal)


def figures(proposal: Proposal) -> dict[str, int]:
    leaders = [each.after.leaders for each in proposal.brokers]
    return {
        "rack_violations": proposal.rack_excess_after,
        "count_deviation": len(proposal.uneven),
        "moves": proposal.moves,
        "bytes": proposal.bytes,
        "max_replicas": max(each.after.replicas for each in proposal.brokers),
        "leader_deviation": max(0, max(leaders) - min(leaders) - 1),
        "leader_changes": proposal.leader_changes,
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_case_reaches_its_known_optimum(case: dict[str, Any]) -> None:
    found, expected = figures(propose(case_problem(case))), dict(case["expect"])
    # Leaders are evened out after the replicas are placed, so their optimum may be missed by a little.
    assert found["leader_changes"] <= expected.pop("leader_changes") + 2
    assert {name: found[name] for name in expected} == expected


@given(problems())
@settings(max_examples=examples(150), deadline=None)
def test_fewest_bytes_are_at_most_those_of_fewest_moves(problem: Problem) -> None:
    goal = problem.goal._replace(even_counts=True, by="replicas")
    moves = propose(problem._replace(goal=goal))
    fewest = propose(problem._replace(goal=goal._replace(minimize="bytes")))
    assert fewest.bytes_bound <= fewest.bytes <= moves.bytes
    assert fewest.moves >= moves.moves
    assert len(fewest.uneven) == len(moves.uneven)


def test_bytes_that_no_broker_may_receive_are_not_in_the_bound() -> None:
    """foo-1 has two replicas in rack a and none in rack c, but the broker of rack c gets nothing."""
    snapshot = cluster("abca", (1,), (1, 2, 4), sizes={1: 5})
    goal = Goal(receive_nothing=frozenset({3}), even_counts=True, repair_racks=True, minimize="bytes")
    proposal = propose(problem_of(snapshot, goal))
    assert proposal.bytes_bound <= proposal.bytes < 5


def test_small_replicas_move_where_bytes_are_to_be_few() -> None:
    """The first broker sheds a replica: any follower, or the smallest replica, which leads."""
    snapshot = cluster("----", (1, 2), (3, 1), (4, 1), sizes={0: 5, 1: 20, 2: 30})
    even = Goal(even_counts=True, tolerance=Fraction(0), minimize="bytes")
    least = propose(problem_of(snapshot, even))
    assert (least.moves, least.bytes, least.fewest_bytes_proven) == (1, 5, True)
    assert least.notes == ("no plan can copy fewer bytes than 5 B",)


@given(problems())
@settings(max_examples=examples(150), deadline=None)
def test_every_list_is_valid_and_leaves_drained_brokers(problem: Problem) -> None:
    proposal = propose(problem)
    receivers = {node.id for node in problem.nodes if node.receives}
    for row in problem.rows:
        replicas = proposal.changes.get(row, row.replicas)
        assert len(set(replicas)) == len(replicas)
        if not problem.goal.changes_order_only:
            assert len(replicas) == row.factor
            assert not problem.goal.drain & set(replicas)
        assert set(replicas) - set(row.replicas) <= receivers


@given(problems())
@settings(max_examples=examples(150), deadline=None)
def test_a_second_proposal_changes_nothing(problem: Problem) -> None:
    after = applied(problem, propose(problem))
    assert propose(after).changes == {}


def test_bytes_that_leave_a_broker_without_new_replicas_are_evened_out_at_once() -> None:
    full = cluster("----", (1,), (1,), (1, 2), (1, 2))
    problem = problem_of(full, Goal(factor=1, even_counts=True, by="bytes", receive_nothing=frozenset({1})))
    assert propose(applied(problem, propose(problem))).changes == {}


@given(problems())
@settings(max_examples=examples(100), deadline=None)
def test_racks_get_no_worse(problem: Problem) -> None:
    rule = RackRule(problem.nodes)
    proposal = propose(problem)
    for row, replicas in proposal.changes.items():
        if len(replicas) == len(row.replicas) and not problem.goal.drain & set(row.replicas):
            assert rule.excess(replicas) <= rule.excess(row.replicas)


@given(problems())
@settings(max_examples=examples(60), deadline=None)
def test_more_tolerance_never_needs_more_moves(problem: Problem) -> None:
    strict = problem._replace(
        goal=problem.goal._replace(even_counts=True, by="replicas", tolerance=Fraction(0))
    )
    loose = strict._replace(goal=strict.goal._replace(tolerance=Fraction(1, 5)))
    assert propose(loose).moves <= propose(strict).moves or propose(strict).uneven


@given(problems())
@settings(max_examples=examples(60), deadline=None)
def test_a_budget_is_kept_or_refused(problem: Problem) -> None:
    free = propose(problem)
    limited = problem._replace(goal=problem.goal._replace(max_moves=free.moves // 2))
    required = propose(problem._replace(goal=problem.goal._replace(even_counts=False))).moves
    if required > free.moves // 2:
        with pytest.raises(ProposalError, match="moves without any balancing"):
            propose(limited)
    else:
        assert propose(limited).moves <= free.moves // 2


@given(problems(), st.randoms(use_true_random=False))
@settings(max_examples=examples(60), deadline=None)
def test_the_order_of_partitions_does_not_matter(problem: Problem, rng: Random) -> None:
    keys = [row[:2] for row in problem.rows]
    brokers = {node.id: Broker(node.id, node.rack) for node in problem.nodes}
    partitions = {
        row[:2]: Partition(*row[:2], row.replicas, row.replicas, -1, row.bytes) for row in problem.rows
    }
    rng.shuffle(keys)
    shuffled = Snapshot(brokers, {key: partitions[key] for key in keys})
    ordered = Snapshot(brokers, partitions)
    assert propose(problem_of(shuffled, problem.goal)) == propose(problem_of(ordered, problem.goal))


@given(problems())
@settings(max_examples=examples(100), deadline=None)
def test_no_plan_is_below_its_bounds(problem: Problem) -> None:
    proposal = propose(problem)
    assert proposal.moves >= proposal.moves_bound
    assert proposal.bytes >= proposal.bytes_bound or proposal.notes or proposal.uneven
    if problem.goal.by == "replicas":
        assert proposal.fewest_moves_proven


@given(problems())
@settings(max_examples=examples(60), deadline=None)
def test_a_budget_of_bytes_is_kept_or_refused(problem: Problem) -> None:
    budget = propose(problem).bytes // 2
    required = propose(problem._replace(goal=problem.goal._replace(even_counts=False))).bytes
    limited = problem._replace(goal=problem.goal._replace(max_bytes=budget))
    if required > budget:
        with pytest.raises(ProposalError, match="without any balancing"):
            propose(limited)
    else:
        assert propose(limited).bytes <= budget


def test_a_budget_improves_the_fullest_broker_first() -> None:
    full = cluster("----", *[(1, 2)] * 8)
    proposal = propose(problem_of(full, Goal(even_counts=True, max_moves=4)))
    assert proposal.moves == 4
    assert max(each.after.replicas for each in proposal.brokers) == 6


def test_a_class_moves_its_smallest_partitions() -> None:
    full = cluster("---", (1,), (1,), (1,), sizes={0: 50, 1: 10, 2: 20})
    proposal = propose(problem_of(full, Goal(even_counts=True)))
    assert (proposal.moves, proposal.bytes) == (2, 30)


def small_problem(rng: Random) -> Problem:
    count = rng.randint(3, 10)
    racks = rng.choice(["-", "ab", "abc", "abcd"])
    letters = "".join(racks[each % len(racks)] for each in range(count))
    factor = rng.randint(1, min(4, count - 1))
    lists = [rng.sample(range(1, count + 1), factor) for _ in range(rng.randint(3, 25))]
    drain = frozenset(rng.sample(range(1, count + 1), rng.choice([0, 0, 1])))
    goal = Goal(drain=drain, even_counts=rng.random() < 0.7, repair_racks=rng.random() < 0.5)
    if count - len(drain) < factor or goal.changes_order_only:
        return small_problem(rng)
    return problem_of(cluster(letters, *lists), goal)


def solved(problems: list[dict[str, Any]]) -> list[tuple[int, int, int, dict[str, float]]]:
    command = [sys.executable, "-m", "tools.proposal_oracle"]
    text = json.dumps(problems)
    ran = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603 - our own
    optima: list[tuple[int, int, int, dict[str, float]]] = json.loads(ran.stdout)
    return optima


def test_two_brokers_of_a_rack_share_what_the_third_gives() -> None:
    """With one list for each broker, the level of one broker is not that of all."""
    turns = [(1 + turn % 9, 1 + (turn + 4) % 9, 1 + (turn + 8) % 9) for turn in range(90)]
    drained = propose(problem_of(cluster("abcabcabc", *turns), Goal(drain=frozenset({4}))))
    assert [each.after.replicas for each in drained.brokers] == [45, 30, 30, 0, 30, 30, 45, 30, 30]


def test_the_even_share_follows_the_weights_of_the_brokers() -> None:
    lists = [(1, 5)] * 30 + [(2, 5)] * 6 + [(3, 5)] * 6
    goal = Goal(drain=frozenset({1}), weights={2: Fraction(2)})
    drained = propose(problem_of(cluster("aaaab", *lists), goal))
    assert [each.after.replicas for each in drained.brokers[1:4]] == [21, 10, 11]


def shared_problem(rng: Random) -> Problem:
    """Return a problem with 3 to 5 brokers in each rack, some of them with another weight."""
    racks = "ab" if rng.random() < 0.5 else "abc"
    letters = "".join(rack * rng.randint(3, 5) for rack in racks)
    ids = range(1, len(letters) + 1)
    by_rack = [[each for each in ids if letters[each - 1] == rack] for rack in racks]
    lists = [[rng.choice(rack) for rack in by_rack] for _ in range(rng.randint(8, 20))]
    if rng.random() < 0.5:
        lists = [rng.sample(ids, rng.randint(1, 4)) for _ in lists]
    weights = {
        each: rng.choice([Fraction(1, 2), Fraction(3)]) for each in rng.sample(ids, rng.choice([0, 0, 2]))
    }
    goals = [
        Goal(drain=frozenset(rng.sample(ids, rng.randint(1, 2)))),
        Goal(drain=frozenset(rng.sample(ids, 1)), factor=rng.randint(1, 3)),
        Goal(repair_racks=True),
        Goal(
            even_counts=True, tolerance=Fraction(rng.choice([0, 1]), 4), drain=frozenset(rng.sample(ids, 1))
        ),
    ]
    return problem_of(cluster(letters, *lists), rng.choice(goals)._replace(weights=weights))


@pytest.mark.whole
@pytest.mark.parametrize("exact_arcs", [solve.EXACT_ARCS, -1], ids=["class flow", "quotas first"])
def test_among_plans_with_the_fewest_moves_the_highest_share_is_the_lowest_possible(
    exact_arcs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solve, "EXACT_ARCS", exact_arcs)
    rng = Random(2)
    problems = [shared_problem(rng) for _ in range(SHARE_PROBLEMS)]
    inputs = [for_oracle(problem, shares=True) for problem in problems]
    for problem, given_, (penalty, _, moves, shares) in zip(problems, inputs, solved(inputs), strict=True):
        proposal = propose(problem)
        counts = {each.broker: each.after.replicas for each in proposal.brokers}
        fixed = not penalty and all(
            least == most for _, _, bounds in given_["rows"] for least, most, _ in bounds.values()
        )
        for rack, lowest in shares.items():
            if fixed or not rack:
                mine = [node for node in problem.usable if rack in ("", node.rack)]
                highest = max(counts[node.id] / node.weight for node in mine)
                assert highest == pytest.approx(lowest, abs=1e-4), (problem, rack, moves)


@pytest.mark.whole
@pytest.mark.parametrize("exact_arcs", [solve.EXACT_ARCS, -1], ids=["class flow", "quotas first"])
def test_no_plan_moves_fewer_replicas(exact_arcs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve, "EXACT_ARCS", exact_arcs)
    rng = Random(1)
    problems = [small_problem(rng) for _ in range(ORACLE_PROBLEMS)]
    optima = solved([for_oracle(problem) for problem in problems])
    for problem, (_, deviation, moves, _) in zip(problems, optima, strict=True):
        proposal = propose(problem)
        outside = sum(
            max(0, each.after.replicas - each.wanted.most, each.wanted.least - each.after.replicas)
            for each in proposal.uneven
            if each.wanted is not None
        )
        assert (outside, proposal.moves) == (deviation, moves), problem
