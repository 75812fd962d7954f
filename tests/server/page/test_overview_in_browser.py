"""Throughput, limits and schedule on the page, in a browser. Skipped where there is no Chromium."""

import json

from kafka.admin import ConfigResource, ConfigResourceType

from controller.model.configs import LEADER_RATE
from tests.server.page.site import FAST, IN_CHROMIUM, Site, refreshed
from tools.chromium import Page
from tools.kafka_cluster import admin_client

pytestmark = IN_CHROMIUM

OPEN = "document.getElementById('confirm').open"


def said(page: Page, text: str) -> None:
    """Wait until the dialog says this."""
    shown = "document.querySelector('#confirm').innerText.replaceAll('\\u00a0', ' ')"
    page.wait(f"{shown}.includes({json.dumps(text)})")


def replace(page: Page, text: str) -> None:
    """Replace the text of the field that has the focus."""
    page.run("document.activeElement.select()")
    page.type(text)


MANY = """
const read = Response.prototype.json;
Response.prototype.json = async function () {
  const body = await read.call(this);
  const row = (_, place) => ({ reason: `reason ${place}`, partitions: 9 - place });
  return body.health ? { ...body, reasons: Array.from({ length: 9 }, row) } : body;
};
"""
"""There are nine reasons why partitions do not move."""


def test_the_first_reasons_are_shown_and_the_others_on_request(site: Site) -> None:
    page = site.open("", FAST + MANY)
    rows = "document.querySelectorAll('#reasons tbody tr').length"
    page.wait(f"{rows} === 6")
    page.tab_to("Show all 9 reasons")
    page.press("Enter")
    page.wait(f"{rows} === 9")
    refreshed(page)
    assert page.run(rows) == 9


def test_the_dialog_of_a_limit_says_what_would_start(site: Site) -> None:
    site.submit(range(40))
    page = site.open("#/settings", FAST)
    page.tab_to("Change limit P")
    page.press("Enter")
    page.wait(OPEN)
    replace(page, "4")
    said(page, "With 4: 3 waiting steps start at once.")
    assert "It is 1. Steps in flight use 1 of it, and continue." in page.text("#confirm ul")
    replace(page, "nothing")
    said(page, "Enter a whole number from 1 to 2147483647, or nothing for no limit.")
    replace(page, "3")
    page.press("Enter")
    site.until(lambda: site.api.get("limits").json()["limits"][1]["limit"] == 3)
    page.wait("document.getElementById('said').innerText === 'Limit P: 1 → 3.'")


STILL = """
const later = window.setTimeout.bind(window);
window.setTimeout = (call, delay) => (delay > 1000 ? 0 : later(call, delay));
"""
"""Never refreshes by itself."""


def test_a_dialog_says_the_value_of_this_moment_on_a_page_that_is_older(site: Site) -> None:
    job = site.submit(range(40))
    page = site.open("#/settings", STILL)
    overview = site.open("", STILL)
    assert site.api.put("limits", json={"P": 2, "pace": "auto", "pace.ms": 12.5}).status_code == 200
    site.post(f"jobs/{job}/priority", {"priority": 7})
    for shown, label, now in (
        (page, "Change limit P", "It is 2."),
        (page, "Change limit pace", "Produces take at most 12.5 ms now."),
        (overview, f"Change the priority of job {job}", "It is 7."),
    ):
        shown.tab_to(label)
        shown.press("Enter")
        said(shown, now)
        shown.press("Escape")


def test_no_line_breaks_between_a_number_and_its_unit(site: Site) -> None:
    site.submit(range(40))
    page = site.open("", FAST)
    page.wait("/[0-9]\\u00a0[KM]iB/.test(document.getElementById('numbers').innerText)")
    assert not page.run("/[0-9] ([KMG]?i?B|s|min|h|d)\\b/.test(document.body.innerText)")


def test_the_throttle_is_changed_in_units(site: Site) -> None:
    page = site.open("#/settings", FAST)
    page.tab_to("Change limit throttle")
    page.press("Enter")
    page.wait(OPEN)
    page.type("50KB")
    said(page, "The throttle in force would be 50 kB/s.")
    page.press("Enter")
    site.until(lambda: site.api.get("status").json()["throttle"]["bytes_per_second"] == 50_000)


def test_a_throttle_that_others_have_set_is_shown_beside_that_of_reassignd(site: Site) -> None:
    page = site.open("", FAST)
    assert "throttle of others" not in page.text("#numbers").lower()
    throttle(site, "1000000", 3, 1)
    shows_throttle_of_others(page, "1.MB.s at brokers 1, 3")


def test_different_throttles_of_others_are_shown_with_their_brokers(site: Site) -> None:
    page = site.open("", FAST)
    throttle(site, "2000000", 2)
    throttle(site, "1000000", 3, 1)
    shows_throttle_of_others(page, "1.MB.s at brokers 1, 3; 2.MB.s at broker 2")
    throttle(site, "4000000", 4)
    shows_throttle_of_others(page, "4 brokers, lowest 1.MB.s at brokers 1, 3")


def throttle(site: Site, rate: str, *brokers: int) -> None:
    """Set the rate of the leaders at the brokers, as another tool does."""
    with admin_client(site.server.bootstrap) as admin:
        for broker in map(str, brokers):
            admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, broker, {LEADER_RATE: rate})])


def shows_throttle_of_others(page: Page, expected: str) -> None:
    """Wait until the page shows this; a dot is any character."""
    shown = "document.getElementById('numbers').innerText"
    page.wait(f"/throttle of others\\s+{expected}/i.test({shown})")


def test_a_schedule_is_checked_then_set_then_removed(site: Site) -> None:
    page = site.open("#/settings", FAST)
    assert page.text("#schedule-now") == "There is no schedule: steps may start at any time."
    page.wait("document.querySelector('.week.editable')")
    page.run("document.getElementById('schedule-text').focus()")
    page.type("Mon-Sunday 25:00")
    page.wait("document.getElementById('schedule-check').className === 'bad'")
    replace(page, "Mon-Sun 00:00-24:00 throttle=50KB; tz=UTC")
    page.wait("document.getElementById('schedule-check').innerText.startsWith('If you save it: ')")
    assert "with a throttle of 50 kB/s. Times of the periods are in UTC." in page.text("#schedule-check")
    page.press("Enter")
    page.wait("document.getElementById('schedule-now').innerText.startsWith('Steps may start')")
    assert page.run("document.querySelectorAll('.week .open').length") == 7
    assert site.api.get("schedule").json()["now"]["throttle"] == 50_000
    assert site.api.put("schedule", content='{"schedule": null}').status_code == 200
    page.wait("!document.querySelector('.week .open')")


def test_a_closed_schedule_says_why_nothing_starts(site: Site) -> None:
    closed = "Mon 00:00-00:01; tz=UTC" if site.weekday() != 0 else "Wed 00:00-00:01; tz=UTC"
    assert site.api.put("schedule", content=json.dumps({"schedule": closed})).status_code == 200
    site.submit(range(5))
    page = site.open("#/settings", FAST)
    page.wait("document.getElementById('schedule-now').innerText.startsWith('No steps start: ')")
    page.run("location.hash = '#/'")
    page.wait("document.querySelector('#reasons tbody')?.innerText.includes('schedule')")


THROUGHPUT = """
const read = Response.prototype.json;
Response.prototype.json = async function () {
  const body = await read.call(this);
  return body.sample_ms ? SAMPLES : body;
};"""


def test_the_throughput_of_each_broker_is_drawn_against_the_throttle(site: Site) -> None:
    samples = {
        "sample_ms": 15_000,
        "times": [1_000_000, 1_015_000, 1_030_000],
        "throttles": [None, 2000, 2000],
        "brokers": [
            {"id": 1, "incoming": [0, 500, 1000], "outgoing": [0, 0, None]},
            {"id": 2, "incoming": [0, 0, 0], "outgoing": [0, 0, 0]},
            {"id": 3, "incoming": [0, 0, 0], "outgoing": [0, 500, 1000]},
        ],
    }
    page = site.open("", THROUGHPUT.replace("SAMPLES", json.dumps(samples)))
    page.wait("document.querySelectorAll('#throughput svg').length === 2")
    captions = page.run(
        "[...document.querySelectorAll('#throughput figcaption')].map((each) => each.innerText)"
    )
    assert captions == [
        "Broker 1\n1\xa0kB/s in, unknown out",
        "Broker 3\n0\xa0B/s in, 1\xa0kB/s out",
    ]
    chart = "document.querySelector('#throughput .chart')"
    axis = page.run(f"[...{chart}.querySelectorAll('.grid text')].map((each) => each.textContent)")
    assert "2\xa0kB/s" in axis
    page.run(f"{chart}.focus()")
    page.press("ArrowLeft")
    read = page.text("#throughput .tip").splitlines()
    assert read[1:] == ["received 500 B/s", "sent 0 B/s", "throttle 2 kB/s"]


def test_pace_is_switched_on_and_off_among_the_limits(site: Site) -> None:
    page = site.open("#/settings", FAST)
    page.tab_to("Change limit pace")
    page.press("Enter")
    page.wait(OPEN)
    replace(page, "fast")
    said(page, "Enter auto, off, a multiple of the idle latency such as 1.5, or milliseconds such as 10 ms.")
    replace(page, "1.01")
    said(page, "pace.factor is 1.01: it must be a number from 1.05 to 100")
    replace(page, "12.5 ms")
    said(page, "Produces may take at most 12.5 ms.")
    page.press("Enter")
    page.wait("document.getElementById('said').innerText === 'Pace: off → 12.5 ms.'")
    page.tab_to("Change limit pace")
    page.press("Enter")
    page.wait(OPEN)
    replace(page, "2")
    page.press("Enter")
    page.wait("document.getElementById('said').innerText === 'Pace: 12.5 ms → 2 times the idle latency.'")
    assert site.api.put("limits", json={"pace": "off"}).status_code == 200
    page.wait("document.querySelector('.gauge:last-child').innerText.includes('off')")


def test_pace_is_shown_with_a_drawing_for_each_broker_while_it_is_on(site: Site) -> None:
    page = site.open("#/settings", FAST)
    page.wait("!document.getElementById('content').hidden")
    assert page.run("document.getElementById('pace').closest('section').hidden")
    assert site.api.put("limits", json={"pace": "auto"}).status_code == 200
    page.wait("document.querySelectorAll('#pace figure').length > 0")
    page.wait("document.getElementById('pace-brokers').innerText.includes('ms')")
    assert "1.5 times the idle latency, measured by canary produces" in page.text("#pace-now")
    page.wait("document.querySelector('#pace figcaption').innerText.includes('target')")
