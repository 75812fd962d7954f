import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.metric_names import unknown_metrics
from tools import dashboard, dashboard_panels
from tools.dashboard_panels import Query, graph


def test_the_dashboard_in_deploy_is_up_to_date() -> None:
    assert dashboard.main(["--check"]) == 0


def test_an_outdated_dashboard_fails_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "board.json"
    monkeypatch.setattr(dashboard, "DASHBOARD", path)
    assert dashboard.main(["--check"]) == 1
    assert dashboard.main([]) == 0
    assert dashboard.main(["--check"]) == 0


def test_panels_do_not_overlap() -> None:
    places = [panel["gridPos"] for panel in dashboard.dashboard()["panels"]]
    assert all(place["x"] + place["w"] <= dashboard.WIDTH for place in places)
    for one, other in combinations(places, 2):
        apart = [one[a] + one[b] <= other[a] or other[a] + other[b] <= one[a] for a, b in ("xw", "yh")]
        assert any(apart), (one, other)


def _panels(kind: str) -> list[dict[str, Any]]:
    return [panel for panel in dashboard.dashboard()["panels"] if panel["type"] == kind]


def test_a_number_is_that_of_now() -> None:
    # From a range, Grafana shows the last value: hours after the process has ended.
    targets = [target for panel in _panels("stat") for target in panel["targets"]]
    assert targets
    assert all(target["instant"] and not target["range"] for target in targets)


def test_a_graph_is_of_the_whole_range() -> None:
    targets = [target for panel in _panels("timeseries") for target in panel["targets"]]
    assert targets
    assert all(target["range"] and not target["instant"] for target in targets)


def test_the_throttle_is_a_dashed_line() -> None:
    [panel] = [panel for panel in _panels("timeseries") if panel["title"] == "Received by broker"]
    [override] = panel["fieldConfig"]["overrides"]
    assert override["matcher"] == {"id": "byName", "options": "throttle"}
    assert {each["id"] for each in override["properties"]} == {"color", "custom.lineStyle"}


@pytest.mark.parametrize("query", dashboard_panels.queries(), ids=lambda query: query.expression)
def test_a_query_asks_for_existing_metrics_of_the_chosen_processes(query: Query) -> None:
    assert unknown_metrics(query.text) == set()
    names = re.findall(r"\b(?:reassignd|process)_\w+", query.text)
    assert names
    assert query.text.count(dashboard_panels.HERE) == len(names)


def test_rates_have_the_range_that_grafana_chooses() -> None:
    [query] = graph("Reads", "ops", ("rate(reads$[rate])", "reads")).queries
    assert query.text == f"rate(reads{dashboard_panels.HERE}[$__rate_interval])"


def test_panels_that_need_several_instances_say_so() -> None:
    row = dashboard_panels.ROWS["Instances with a state topic"]
    assert {panel.description for panel in row} == {dashboard_panels.INSTANCES}


def test_a_number_has_colors_of_its_own() -> None:
    # Grafana's own ones are green, and red from 80.
    numbers = [panel for row in dashboard_panels.ROWS.values() for panel in row if panel.kind == "stat"]
    for panel in numbers:
        color = panel.options["color"]["mode"]
        assert color == "fixed" or (color == "thresholds" and "thresholds" in panel.options), panel.title
