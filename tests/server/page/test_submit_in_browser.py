"""The page that submits plans, in a browser. Skipped where there is no Chromium."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.server.page.site import FAST, IN_CHROMIUM, MARKUP, WITH_MARKUP, Open, Site
from tools.chromium import Page

pytestmark = IN_CHROMIUM

VALID = "document.getElementById('plan-state').innerText.includes('is valid')"
WRONG = "document.getElementById('plan-state').className === 'bad'"
OPEN = "document.getElementById('confirm').open"


def rows(numbers: range, shift: int = 3, topic: str = "foo") -> list[dict[str, Any]]:
    return [
        {"topic": topic, "partition": n, "replicas": [(n + shift + place) % 6 + 1 for place in range(3)]}
        for n in numbers
    ]


def enter(page: Page, entries: list[dict[str, Any]]) -> None:
    """Replace the plan on the page."""
    page.wait("!document.getElementById('plan-form').hidden")
    page.run("document.getElementById('plan').focus()")
    page.run("document.getElementById('plan').select()")
    page.type(json.dumps({"version": 1, "partitions": entries}))


def reviewed(site: Site, entries: list[dict[str, Any]], before: str = "") -> Page:
    page = site.page("#/plan", before)
    enter(page, entries)
    page.wait(VALID)
    return page


def confirm(page: Page, button: str, action: str = "") -> str:
    """Press the button by keyboard, and confirm; return the text of the dialog."""
    page.tab_to(button)
    page.press("Enter")
    page.wait(OPEN)
    said = page.text("#confirm ul")
    if action:
        page.tab_to(action)
    page.press("Enter")
    return said


def test_an_invalid_entry_is_named_at_once(site: Site) -> None:
    page = site.page("#/plan")
    enter(page, [*rows(range(2)), *rows(range(1), topic="fooo")])
    page.wait(WRONG)
    assert page.text("#plan-state").startswith("partitions[2] (fooo-0): ")
    enter(page, rows(range(2)))
    page.wait(VALID)
    assert page.run("document.getElementById('plan').getAttribute('aria-invalid')") == "false"


@pytest.mark.tour
def test_all_invalid_entries_are_listed(site: Site) -> None:
    page = site.page("#/plan")
    enter(page, [{"topic": "foo", "partition": number, "replicas": [1, 99]} for number in range(12)])
    page.wait(WRONG)
    assert page.text("#plan-state") == "12 entries are wrong:"
    assert page.run("document.querySelectorAll('#plan-faults li').length") == 11
    assert page.text("#plan-faults li:first-child").startswith("partitions[0] (foo-0): ")
    enter(page, rows(range(3)))
    page.wait(VALID)
    assert page.text("#plan-faults") == ""


def test_the_review_says_in_numbers_what_the_plan_does(site: Site) -> None:
    page = reviewed(site, [*rows(range(24)), *rows(range(30, 31), shift=0)])
    said = page.text("#summary")
    assert "24 partitions will move. 1 of 25 entries change nothing." in said
    assert "72 replicas (6.87 MiB) will be copied, in 24 steps. The steps make 24 waves" in said
    assert "Limits: P = 1." in said
    assert page.run("document.querySelectorAll('#charts svg rect').length") == 3 * 2 * 6
    assert page.run("document.querySelectorAll('#figures tbody tr').length") == 6
    assert site.api.get("jobs").json()["total"] == 0


def test_the_throttle_of_the_job_changes_the_forecast(site: Site) -> None:
    page = reviewed(site, rows(range(24)))
    page.run("document.querySelector('#start [name=throttle]').focus()")
    page.type("1KB")
    page.wait(
        "document.getElementById('summary').innerText.includes('at 1\\u00a0kB/s to and from each broker')"
    )
    page.run("document.querySelector('#start [name=throttle]').select()")
    page.type("fast")
    page.wait(WRONG)
    assert page.text("#plan-state").startswith("Enter bytes per second, such as 50MB")


def test_the_forecast_contains_the_time_outside_of_the_schedule(site: Site) -> None:
    closed = "Mon 00:00-00:01; tz=UTC" if site.weekday() != 0 else "Wed 00:00-00:01; tz=UTC"
    assert site.api.put("schedule", content=json.dumps({"schedule": closed})).status_code == 200
    assert "In the periods of the schedule it ends in " in reviewed(site, rows(range(3))).text("#summary")


def test_a_plan_is_started_with_its_own_throttle_and_priority(site: Site) -> None:
    page = reviewed(site, rows(range(24)))
    page.run("document.querySelector('#start [name=throttle]').focus()")
    page.type("50KB")
    page.press("Tab")
    page.type("7")
    said = confirm(page, "Start…")
    assert "24 partitions will move. 72 replicas (6.87 MiB) will be copied" in said
    assert "Throttle of the job: 50 kB/s. Priority: 7." in said
    page.wait("!document.getElementById('submitted').hidden")
    assert page.text("#answer") == "Job 1: 24 partitions accepted."
    job = site.job(1)
    assert (job["throttle"], job["priority"], job["state"]) == (50_000, 7, "running")


def test_a_plan_is_submitted_paused_or_queued(site: Site) -> None:
    said = confirm(reviewed(site, rows(range(10))), "Start paused…")
    assert "No step starts until the job is resumed." in said
    site.until(lambda: site.api.get("jobs").json()["total"] == 1)
    assert (site.job(1)["state"], site.job(1)["moving"]) == ("paused", 0)
    said = confirm(reviewed(site, rows(range(5), shift=4)), "Queue behind other jobs…")
    assert "5 partitions of the plan are moving or queued now: they return to their original" in said
    assert "It starts behind 1 open job." in said
    site.until(lambda: site.api.get("jobs").json()["total"] == 2)
    assert site.job(2)["kind"] == "queue"


def test_a_plan_is_uploaded(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"version": 1, "partitions": rows(range(3))}))
    page = site.page("#/plan")
    page.wait("!document.getElementById('plan-form').hidden")
    page.attach("#file", file)
    page.wait(VALID)
    assert page.text("#plan-state").startswith("The plan with 3 entries is valid.")


def test_partitions_that_cannot_arrive_are_listed(site: Site) -> None:
    site.post("brokers/6/stop")
    page = reviewed(site, [{"topic": "foo", "partition": 0, "replicas": [1, 2, 6]}])
    assert page.text("#stuck tbody tr").split("\t")[::2] == ["foo-0", "offline: broker 6"]
    assert "1 partition cannot arrive now." in page.text("#summary")


def test_a_job_is_run_by_keyboard_alone(site: Site) -> None:
    page = reviewed(site, rows(range(50)), FAST)
    confirm(page, "Start…")
    page.wait("!document.getElementById('submitted').hidden")
    page.tab_to("Show the job")
    page.press("Enter")
    page.wait("location.hash === '#/jobs/1' && document.querySelector('#parts tbody tr')")
    confirm(page, "Pause job 1")
    site.until(lambda: site.job(1)["state"] == "paused")
    page.tab_to("Settings")
    page.press("Enter")
    page.tab_to("Change limit P")
    page.press("Enter")
    page.wait(OPEN)
    page.run("document.activeElement.select()")
    page.type("2")
    page.press("Enter")
    site.until(lambda: site.api.get("limits").json()["limits"][1]["limit"] == 2)
    page.tab_to("Jobs")
    page.press("Enter")
    page.tab_to("1")
    page.press("Enter")
    page.tab_to("Resume job 1")
    page.press("Enter")
    site.until(lambda: site.job(1)["done"] > 0)
    confirm(page, "Cancel foo-24", "Cancel the partition")
    site.until(lambda: site.job(1)["endings"].get("rolled back"))
    said = confirm(page, "Roll back job 1", "Roll back")
    assert sum(map(int, re.findall(r"(\d+) partitions? (?:will move back|not moved yet)", said))) == 49
    site.until(lambda: site.api.get("jobs").json()["total"] == 2)
    assert site.job(2)["undoes"] == 1


def test_names_with_markup_are_shown_as_text(site: Site) -> None:
    page = site.page("#/plan")
    enter(page, rows(range(1), topic=MARKUP))
    page.wait(WRONG)
    assert MARKUP[:20] in page.text("#plan-state")
    assert page.run("document.images.length") == 0


def test_racks_with_markup_are_shown_as_text(site: Site) -> None:
    page = site.page("#/plan", WITH_MARKUP)
    enter(page, rows(range(3)))
    page.wait(VALID)
    assert MARKUP in page.text("#figures")
    assert page.run("document.images.length") == 0


def test_a_viewer_reviews_a_plan_and_is_told_who_may_start_it(start: Open, tmp_path: Path) -> None:
    access, secret = tmp_path / "access", "secret-of-at-least-sixteen-characters"
    access.write_text(f"reader viewer token {secret}\n")
    access.chmod(0o600)
    page = start(**{"http.access.file": str(access)}).page("#/plan")
    page.wait("!document.getElementById('login').hidden")
    page.run("document.getElementById('token').focus()")
    page.type(secret)
    page.press("Enter")
    enter(page, rows(range(3)))
    page.wait(VALID)
    assert "3 partitions will move." in page.text("#summary")
    assert page.text("#role") == (
        "User:reader has the role viewer and can review plans. To start one, the role operator is needed."
    )
    assert "Start" not in page.text("#start")
    page.run("document.querySelector('#start [name=throttle]').focus()")
    page.press("Enter")
    assert not page.run(OPEN)


def test_a_server_that_is_gone_is_named_and_the_plan_stays(site: Site) -> None:
    page = reviewed(site, rows(range(3)))
    site.server.kill()
    enter(page, rows(range(4)))
    page.wait(WRONG)
    assert page.text("#plan-state") == "reassignd does not answer."
    site.server.start()
    confirm(page, "Start…")
    site.until(lambda: site.api.get("jobs").json()["total"] == 1)
    assert site.job(1)["total"] == 4


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_outside_of_the_window(site: Site, width: int, dark: bool) -> None:
    page = reviewed(site, rows(range(24)))
    page.resize(width, dark=dark)
    assert page.outside() == []
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
