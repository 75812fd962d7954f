"""Each case that concerns the controller behaves as in Kafka, or docs/differences.md lists the difference."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.controller.cases import Case, behaviours, load, run

CASES = load()
OURS = [case for case in CASES if case.concerns_the_controller]
LINES = (Path(__file__).parents[2] / "docs/differences.md").read_text("utf-8").splitlines()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in LINES if line.startswith("|")]
DIFFERENT = {row[0]: row[1:] for row in ROWS if re.fullmatch(r"[A-Z]{2}-\d{3}", row[0])}
ELSEWHERE = {(row[0], row[1]): int(row[2]) for row in ROWS if row[2].isdecimal()}


@pytest.mark.parametrize("case", OURS, ids=lambda case: case.id)
def test_a_case_behaves_as_in_kafka_or_as_documented(case: Case) -> None:
    kafka, ours, *_ = DIFFERENT.get(case.id, ("", "", ""))
    assert behaviours(run(case)) == (kafka, ours)


def test_each_documented_difference_has_a_reason_and_a_case() -> None:
    assert DIFFERENT.keys() <= {case.id for case in OURS}
    assert all(len(row) == 3 and row[2] for row in DIFFERENT.values())


def test_no_case_is_left_out() -> None:
    elsewhere = Counter((case.area, case.mode) for case in CASES if not case.concerns_the_controller)
    assert elsewhere == ELSEWHERE
    assert len(OURS) + sum(ELSEWHERE.values()) == len(CASES) == 191


def test_a_difference_is_described() -> None:
    wrong = Case("XX-001", "list", "both", {**CASES[0].given}, {"api": 46, "topics": None}, {"error": 41})
    assert behaviours(run(wrong)) == ("error 41", "error 0")


def test_a_component_outside_of_the_controller_is_a_difference() -> None:
    unknown = CASES[0]._replace(do={"event": "zk_session_expired"}, expect={})
    assert behaviours(run(unknown)) == ("has zk_session_expired", "has none in the controller")
