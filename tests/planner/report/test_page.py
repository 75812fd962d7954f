import re

import pytest

from controller.model.limits import PlanLimits
from planner.model.step_table import schedule
from planner.plan import Plan, make_plan, moves_of
from planner.report.page import report
from tests.planner.builders import cluster, parsed, partition

TOPIC = "<b>&orders"


def planned(count: int = 200, brokers: int = 60, **fields: int) -> Plan:
    """Every partition moves by three brokers; the last broker is dead, and partitions that want it wait."""
    parts = [
        partition(TOPIC, number, [1 + (number + each) % brokers for each in range(3)])
        for number in range(count)
    ]
    targets = [
        ((TOPIC, each.partition), tuple(1 + (b + 2) % brokers for b in each.replicas)) for each in parts
    ]
    snapshot = cluster(*parts, brokers=range(1, brokers + 1), dead={brokers})
    return make_plan(moves_of(targets, snapshot), snapshot, PlanLimits(**fields), 1000, schedule)


def page(plan: Plan) -> str:
    return report(plan.forecast, plan.waves)


@pytest.mark.parametrize(
    "plan", [planned(per_partition=1, partitions=1), planned(brokers=6), planned(count=0)]
)
def test_the_page_is_well_formed(plan: Plan) -> None:
    root = parsed(page(plan).removeprefix("<!doctype html>"))
    assert root.tag == "html"
    assert len(root.findall(".//svg")) == 6


def test_the_page_loads_no_other_resources() -> None:
    text = page(planned())
    assert not re.search(r"https?:|//|src=|href=|@import|url\(|<script", text.partition("-->")[0])


def test_names_are_escaped() -> None:
    text = page(planned())
    assert "&lt;b&gt;&amp;orders-" in text
    assert TOPIC not in text


def test_light_and_dark_are_both_there() -> None:
    assert "prefers-color-scheme: dark" in page(planned())


def test_the_numbers_are_those_of_the_forecast() -> None:
    plan = planned(per_partition=1, partitions=20)
    text = page(plan)
    assert f"{plan.forecast.steps:,}" in text
    assert "partitions that move at once: 20" in text
    assert f"Short of the target: {plan.forecast.waiting_partitions} partitions" in text


def test_many_waves_share_columns_and_many_brokers_are_left_to_the_table() -> None:
    text = page(planned(count=500, partitions=1))
    assert "waves together in each column" in text
    assert "The 40 busiest of 60 brokers" in text


def test_without_anything_waiting_there_is_no_such_section() -> None:
    assert "<h2>Waiting</h2>" not in page(planned(count=1))
