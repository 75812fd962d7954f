"""The tables of docs/cruise-control.md."""

import pytest

from server.cruisecontrol.shared.goals import GOALS
from server.cruisecontrol.table import ENDPOINTS
from tools.cruise_control_tables import GOALS_IN_WORDS, TABLES
from tools.reference import PROGRAM
from tools.written_parts import begin, end, rewritten

PAGE = "".join(f"{begin(name, PROGRAM)}before\n{end(name)}\n" for name in TABLES)


def test_every_endpoint_and_every_parameter_has_a_row() -> None:
    page = rewritten(PAGE, PROGRAM, TABLES)
    assert "before\n" not in page
    for endpoint in ENDPOINTS:
        assert f"| `{endpoint.method} {endpoint.name}` |" in page
        assert all(f"| `{name}` |" in page for name in endpoint.parameters.__struct_encode_fields__)


def test_every_goal_has_words() -> None:
    assert {goal.name for goal in GOALS} == GOALS_IN_WORDS.keys()


def test_a_page_without_a_marker_is_an_error() -> None:
    with pytest.raises(ValueError, match="goals"):
        rewritten(PAGE.replace("<!-- /goals -->", ""), PROGRAM, TABLES)
