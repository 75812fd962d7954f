"""What axe-core finds on each page and in each dialog. Skipped where there is no Chromium."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.reassignd.shell import SETTINGS
from tests.server.page.site import IN_CHROMIUM, Site, running
from tools.chromium import Browser, Page

pytestmark = [*IN_CHROMIUM, pytest.mark.usefixtures("closed_tabs")]

JOB = ["Pause…", "Priority…", "Throttle…", "Limits…", "Cancel…", "Roll back…"]
WIDTHS = (1280, 390)
OF_COLORS = ("color-contrast", "link-in-text-block")
"""The rules whose findings depend on the color scheme."""


def found(page: Page, *rules: str) -> list[Any]:
    """Return the serious and critical findings by these rules, or all: rule, element and remedy."""
    return [
        (each["id"], node["target"], node["failureSummary"])
        for each in page.violations(*rules)
        for node in each["nodes"]
        if node["impact"] in ("serious", "critical")
    ]


def found_in_all_windows(page: Page) -> list[Any]:
    """Return the findings in light and dark color schemes, in wide and narrow windows."""
    reports = []
    for width in WIDTHS:
        for dark, rules in ((False, ()), (True, OF_COLORS)):
            page.resize(width, dark=dark)
            reports += [(width, dark, each) for each in found(page, *rules)]
    return reports


def click(page: Page, button: str, inside: str = "body") -> None:
    buttons = f"[...document.querySelectorAll('{inside} button')]"
    sought = f"{buttons}.find(e => e.innerText === {json.dumps(button)})"
    page.wait(sought)
    page.run(f"{sought}.click()")


def found_in_dialog(page: Page, button: str, inside: str = "body") -> list[Any]:
    """Open the dialog of a button; return the findings."""
    click(page, button, inside)
    page.wait("document.querySelector('dialog[open]')")
    return found_in_all_windows(page)


def reviewed(site: Site) -> Page:
    """Open the page for plans, with a valid plan."""
    page = site.page("#/plan")
    page.wait("!document.getElementById('plan-form').hidden")
    page.run("document.getElementById('plan').focus()")
    page.type(json.dumps({"partitions": [{"topic": "foo", "partition": 99, "replicas": [1, 2, 3]}]}))
    page.wait("!document.getElementById('review').hidden")
    return page


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    """A cluster with a stopped broker, and a job that is rolled back.

    One more moves a partition for hours, another one a replica between directories. Tests only look at it.
    """
    hours = {"embedded.network.bytes.per.second": "10"}
    with running(tmp_path_factory.mktemp("busy"), SETTINGS | hours, browser) as site:
        site.limit(P=1)
        site.post(f"jobs/{site.submit(range(5))}/rollback")
        site.submit(range(20, 30))
        goal = {"disks": {"empty": [{"broker": 1, "dir": "/embedded/broker-1/logs-0"}]}}
        site.post(f"proposals/{site.post('proposals', goal)['id']}/execute", params={"throttle": 10})
        site.post("brokers/6/stop")
        yield site


def test_axe_finds_what_is_wrong(busy: Site) -> None:
    page = busy.open()
    page.run("document.body.append(document.createElement('img'), document.createElement('select'))")
    page.run("document.querySelector('main h2').style.color = '#eee'")
    assert {rule for rule, *_ in found(page)} >= {"image-alt", "select-name", "color-contrast"}
    assert {rule for rule, *_ in found(page, *OF_COLORS)} == {"color-contrast"}


@pytest.mark.parametrize(
    "path",
    [
        "",
        "#/map",
        "#/jobs",
        "#/jobs/3",
        "#/jobs/4",
        "#/history",
        "#/plan/propose",
        "#/plan/propose?goal=disks&brokers=1",
        "#/plan/propose?goal=empty&dirs=1:/embedded/broker-1/logs-0",
        "#/plan",
        "#/settings",
        "#/nowhere",
        "#/brokers",
        "#/brokers/6",
        "#/topics",
        "#/topics/foo",
        "#/topics/foo/30",
        "#/load",
    ],
)
def test_axe_finds_nothing_serious_on_a_page(busy: Site, path: str) -> None:
    page = busy.page(path)
    page.wait("document.querySelector('main, #content') && document.readyState === 'complete'")
    page.wait("!document.querySelector('#content')?.hidden")
    assert found_in_all_windows(page) == []


@pytest.mark.parametrize("button", [*JOB, "Change…", "Pause everything…"])
def test_axe_finds_nothing_serious_in_a_dialog(busy: Site, button: str) -> None:
    page = busy.open("#/settings" if button.startswith("Change") else "")
    assert found_in_dialog(page, button) == []


def test_axe_finds_nothing_serious_in_the_dialog_of_a_partition(busy: Site) -> None:
    page = busy.open("#/jobs/3")
    page.wait("document.querySelector('#parts tbody button')")
    assert found_in_dialog(page, "Cancel…", "#parts") == []


@pytest.mark.parametrize("button", ["Start…", "Start paused…", "Queue behind other jobs…"])
def test_axe_finds_nothing_serious_before_a_plan_starts(busy: Site, button: str) -> None:
    page = reviewed(busy)
    assert found_in_dialog(page, button) == []


def test_axe_finds_nothing_serious_in_a_proposal_for_directories(busy: Site) -> None:
    page = busy.open("#/plan/propose?goal=empty&dirs=2:/embedded/broker-2/logs-0")
    page.wait("!document.getElementById('wizard').hidden")
    click(page, "Propose")
    page.wait("!document.getElementById('result').hidden")
    page.run("document.querySelector('#as-command summary').click()")
    assert found_in_all_windows(page) == []


def test_axe_finds_nothing_serious_after_a_plan_was_submitted(site: Site) -> None:
    page = reviewed(site)
    click(page, "Start paused…")
    page.wait("document.querySelector('dialog[open]')")
    click(page, "Submit paused", "dialog")
    page.wait("!document.getElementById('submitted').hidden")
    assert found_in_all_windows(page) == []
