"""The Grafana dashboard: generated, laid out without overlaps, and with queries about existing metrics."""

import re
from itertools import combinations
from pathlib import Path

import pytest

from tests.deploy.metric_names import unknown_metrics
from tools import dashboard


def test_the_dashboard_in_deploy_is_up_to_date() -> None:
    assert dashboard.main(["--check"]) == 0


def test_an_outdated_dashboard_fails_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "board.json"
    monkeypatch.setattr(dashboard, "DASHBOARD", path)
    assert dashboard.main(["--check"]) == 1
    assert dashboard.main([]) == 0
    assert dashboard.main(["--check"]) == 0


@pytest.mark.parametrize("query", dashboard.queries(), ids=lambda query: query.expression)
def test_a_query_asks_for_existing_metrics_of_the_chosen_processes(query: dashboard.Query) -> None:
    assert unknown_metrics(query.text) == set()
    names = re.findall(r"\b(?:reassignd|process)_\w+", query.text)
    assert names
    assert query.text.count(dashboard.HERE) == len(names)


def test_panels_do_not_overlap() -> None:
    places = [panel["gridPos"] for panel in dashboard.dashboard()["panels"]]
    assert all(place["x"] + place["w"] <= dashboard.WIDTH for place in places)
    for one, other in combinations(places, 2):
        apart = [one[a] + one[b] <= other[a] or other[a] + other[b] <= one[a] for a, b in ("xw", "yh")]
        assert any(apart), (one, other)


def test_panels_that_need_several_instances_say_so() -> None:
    row = dashboard.ROWS["Instances with a state topic"]
    assert {panel.description for panel in row} == {dashboard.INSTANCES}
