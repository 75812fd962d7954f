"""The alert rules: they name existing metrics, each has unit tests, and `promtool` accepts and runs them."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.deploy.metric_names import as_sent, unknown_metrics
from tests.deploy.programs import program
from tools import dashboard_panels

FOLDER = Path(__file__).parents[2] / "deploy" / "prometheus"
RULES, UNIT_TESTS = FOLDER / "reassignd-alerts.yml", FOLDER / "reassignd-alerts.test.yml"
ALERTS = re.findall(r"- alert: (\w+)", RULES.read_text("utf-8"))


def promtool(*arguments: str | Path) -> str:
    done = subprocess.run(
        [program("promtool", "prometheus"), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_rules_name_existing_metrics() -> None:
    assert ALERTS
    assert unknown_metrics(RULES.read_text("utf-8")) == set()


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_has_a_unit_test_in_which_it_fires_and_one_in_which_it_does_not(alert: str) -> None:
    text = UNIT_TESTS.read_text("utf-8")
    assert f"name: {alert} fires\n" in text
    assert f"name: {alert} does not fire\n" in text


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_is_documented(alert: str) -> None:
    assert f"`{alert}`" in (FOLDER.parents[1] / "docs" / "observability.md").read_text("utf-8")


@pytest.mark.whole
def test_the_unit_tests_of_the_alerts_pass() -> None:
    promtool("check", "rules", RULES)
    promtool("test", "rules", UNIT_TESTS)


def test_the_queries_of_the_dashboard_parse(tmp_path: Path) -> None:
    rules = tmp_path / "queries.yml"
    queries = [as_sent(query).replace("'", "''") for query in dashboard_panels.queries()]
    rows = [
        f"      - record: query:{number}\n        expr: '{query}'\n" for number, query in enumerate(queries)
    ]
    rules.write_text("groups:\n  - name: dashboard\n    rules:\n" + "".join(rows), "utf-8")
    assert f"{len(queries)} rules found" in promtool("check", "rules", rules)
