"""The panels of the dashboard: queries about existing metrics, and numbers that are of the present."""

import re

import pytest

from tests.deploy.metric_names import unknown_metrics
from tools import dashboard_panels
from tools.dashboard_panels import Query, graph


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
