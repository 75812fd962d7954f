"""Moves between log directories in a browser: their plan, and the page of their job.

Skipped where there is no Chromium.
"""

import json
from functools import partial
from typing import Any

import pytest

from tests.server.page.site import FAST, IN_CHROMIUM, Open, Site
from tools.chromium import Page

pytestmark = IN_CHROMIUM

FIRST, SECOND = (f"/embedded/broker-1/logs-{number}" for number in (0, 1))
RESULT = "!document.getElementById('result').hidden"


def wizard(site: Site, query: str, before: str = FAST) -> Page:
    page = site.open(f"#/plan/propose?{query}", before)
    page.wait("!document.getElementById('wizard').hidden")
    return page


def propose(page: Page) -> None:
    page.run("document.getElementById('propose').click()")
    page.wait(RESULT)


def refused(page: Page, **fields: str) -> str:
    """Enter the fields, propose, and return what the page says of it."""
    for name, value in fields.items():
        page.run(f"document.querySelector('[name={name}]').value = {json.dumps(value)}")
    page.run("document.getElementById('propose').click()")
    page.wait("!document.getElementById('trouble').hidden")
    return page.text("#trouble")


def checked(page: Page, name: str) -> Any:
    return page.run(f"[...document.querySelectorAll('[name={name}]:checked')].map((each) => each.value)")


@pytest.fixture
def emptied(start: Open) -> Site:
    """A cluster with a job, for hours, that empties the first directory of broker 1."""
    site = start()
    goal = {"disks": {"empty": [{"broker": 1, "dir": FIRST}]}}
    proposal = site.post("proposals", goal)["id"]
    site.post(f"proposals/{proposal}/execute", params={"throttle": 10})
    site.until(lambda: site.job(1)["moving"])
    return site


def opened(site: Site, job: int = 1) -> Page:
    page = site.open(f"#/jobs/{job}", FAST)
    page.wait("document.querySelectorAll('#parts tbody tr').length")
    return page


@pytest.mark.tour
def test_a_directory_is_emptied_from_the_page_of_its_broker_by_keyboard(site: Site) -> None:
    page = site.open("#/brokers/1", FAST)
    page.wait("document.querySelectorAll('.dirs a').length === 2")
    page.tab_to(f"Empty the directory {FIRST}…")
    page.press("Enter")
    page.wait("document.querySelector('#wizard:not([hidden]) [name=dir]:checked')")
    assert checked(page, "dir") == [f"1:{FIRST}"]
    page.tab_to("Propose")
    page.press("Enter")
    page.wait(RESULT)
    said = page.text("#result")
    assert "copies fewer: proven" in said
    assert "at 200 kB/s per broker, one replica after the other" in said
    page.tab_to("Start: copy 50 replicas")
    page.press("Enter")
    page.wait("document.querySelector('#started a')")
    page.press("Enter")
    page.wait("location.hash === '#/jobs/1' && document.querySelector('#parts tbody tr')")
    assert (site.job(1)["kind"], site.job(1)["total"]) == ("disks", 50)


def test_directories_are_evened_out_from_the_page_of_their_broker(site: Site) -> None:
    page = site.open("#/brokers/2", FAST)
    page.tab_to("Even out its directories…")
    page.press("Enter")
    page.wait("document.querySelector('#wizard:not([hidden]) [name=broker]:checked')")
    assert (checked(page, "job"), checked(page, "broker")) == (["disks"], ["2"])
    propose(page)
    assert page.text("#summary") == "Nothing to move: the directories meet the goal"
    assert page.run("document.querySelectorAll('#dir-figures tbody tr').length") == 2
    assert page.run("document.getElementById('start').hidden")


def excluded_dirs(site: Site) -> list[str]:
    return [each["dir"] for each in site.api.get("placement").json()["excluded_dirs"]]


def test_a_directory_is_excluded_and_allowed_again_by_keyboard(site: Site) -> None:
    page = site.open("#/brokers/1", FAST)
    steps: list[tuple[str, list[str]]] = [("No new replicas", [FIRST]), ("Allow new replicas", [])]
    for label, expected in steps:
        page.tab_to(f"{label} in the directory {FIRST}…")
        page.press("Enter")
        page.wait("document.querySelector('dialog[open]')")
        page.press("Enter")
        site.until(partial(lambda dirs: excluded_dirs(site) == dirs, expected))
        page.wait("!document.querySelector('dialog[open]')")
        shown = "document.querySelector('.dirs li').innerText.includes('gets no new replicas')"
        page.wait(shown if expected else f"!{shown}")


def test_who_excludes_the_last_directory_is_told_what_follows(site: Site) -> None:
    site.post("placement", {"exclude_dirs": [{"broker": 1, "dir": FIRST}]})
    page = site.open("#/brokers/1", FAST)
    page.tab_to(f"No new replicas in the directory {SECOND}…")
    page.press("Enter")
    page.wait("document.querySelector('dialog[open]')")
    assert "then the broker gets no new partitions." in page.text("#confirm ul")


def test_the_only_directory_of_a_broker_cannot_be_emptied(start: Open) -> None:
    site = start(**{"embedded.log.dirs": "1"})
    site.post("placement", {"exclude_dirs": [{"broker": 1, "dir": FIRST}]})
    page = site.open("#/brokers/1", FAST)
    page.wait("document.querySelector('.dirs .actions')")
    assert page.text(".dirs .actions") == "Allow new replicas…"


def test_a_proposal_is_a_command_with_the_throttle_of_its_field(site: Site) -> None:
    page = wizard(site, f"goal=empty&dirs=1:{FIRST}")
    propose(page)
    page.run("document.querySelector('#start [name=throttle]').focus()")
    page.type("5MB")
    page.run("document.querySelector('#as-command summary').click()")
    command = f"reassignd propose disks --empty 1:{FIRST} --execute --throttle 5MB"
    assert page.text("#as-command code") == command


def test_goals_and_options_are_words_of_the_command(site: Site) -> None:
    page = site.open()
    command = "import('./commands.js').then(({ proposeCommand }) => proposeCommand(%s, ['--execute']))"
    shown = {
        '{ drain: [4, 5], topics: "a|b", skip_moving: true }': "drain 4,5 --topics 'a|b' --skip-moving",
        '{ relieve: [7], relieve_to: "75%" }': "relieve 7 --to 75%",
        '{ factors: [{ factor: 3, topics: "it\'s" }] }': "rf '3:it'\\''s'",
        "{ balance: true, max_moves: 9 }": "balance --max-moves 9",
        '{ disks: { empty: [{ broker: 1, dir: "/a b" }] } }': "disks --empty '1:/a b'",
    }
    for body, words in shown.items():
        assert page.run(command % body) == f"reassignd propose {words} --execute"
    assert page.run(command % "{ to: [1], topics: 'foo' }") is None


def test_a_plan_that_cannot_be_names_the_fields_of_the_page(site: Site) -> None:
    page = wizard(site, "goal=empty&dirs=")
    assert refused(page) == "Choose at least one directory."
    page = wizard(site, f"goal=empty&dirs=1:{FIRST}")
    said = refused(page, dir_relieve_to="120")
    assert said.startswith("“How full the other directories of the broker may get” '120': expected a percent")
    page = wizard(site, f"goal=empty&dirs=1:{FIRST},1:{SECOND}")
    assert refused(page).startswith("broker 1: these are all of its log directories, and none is left")
    page = wizard(site, "goal=disks")
    assert refused(page, dir_tolerance="much").startswith("“Allowed deviation from how full the directories")


def test_a_directory_that_is_empty_already_is_only_excluded(start: Open) -> None:
    site = start(**{"embedded.network.bytes.per.second": "1000000000"})
    goal = {"disks": {"empty": [{"broker": 1, "dir": FIRST}]}}
    proposal = site.post("proposals", goal)["id"]
    site.post(f"proposals/{proposal}/execute", params={"limits": "B=50"})
    site.until(lambda: site.job(1)["state"] == "ended")
    site.post("placement", {"allow_dirs": goal["disks"]["empty"]})
    page = wizard(site, f"goal=empty&dirs=1:{FIRST}")
    propose(page)
    assert f"From the start on, directory 1:{FIRST} gets no new replicas" in page.text("#summary")
    shown = page.text("#start")
    assert (f"Exclude directory 1:{FIRST}" in shown, "Throttle" in shown) == (True, False)
    page.tab_to(f"Exclude directory 1:{FIRST}")
    page.press("Enter")
    page.wait("document.querySelector('#started a')")
    assert page.text("#started strong") == f"Directory 1:{FIRST} gets no new replicas."
    assert excluded_dirs(site) == [FIRST]
    propose(page)
    assert page.run("document.getElementById('start').hidden")


def test_a_path_may_have_a_comma(site: Site) -> None:
    page = site.open()
    read = "import('./dir_picker.js').then(({ readDirs }) => readDirs('3:/a,b,4:/c'))"
    assert page.run(read) == [{"broker": 3, "dir": "/a,b"}, {"broker": 4, "dir": "/c"}]


def test_a_job_of_moves_lists_replicas_with_their_directories(emptied: Site) -> None:
    page = opened(emptied)
    assert page.run("[...document.querySelectorAll('#parts thead th')].map((each) => each.innerText)") == [
        "replica", "state", "from directory", "to directory", "copied", "rate", "reason",
    ]  # fmt: skip
    rows = "[...document.querySelectorAll('#parts tbody tr')].map((each) => each.innerText)"
    assert all(f"{FIRST}\t{SECOND}" in row for row in page.run(rows))
    page.wait("document.querySelector('#parts-pages').innerText.includes('of 50 replicas')")
    page.wait("document.querySelector('#strip + .legend').innerText === '1 moving\\n49 queued'")
    page.wait("document.querySelector('#partitions-title').innerText === 'Replicas'")
    assert page.text("#summary").startswith("Moves between directories, throttle 10 B/s, by ")
    page.wait("document.getElementById('events').innerText.includes('50 moves between directories of foo')")


def test_replicas_of_a_job_are_filtered_and_sorted(emptied: Site) -> None:
    page = opened(emptied)
    page.run("document.querySelector('#filters [name=state]').value = 'queued'")
    page.run("document.querySelector('#filters [name=sort]').value = 'partition'")
    page.run("document.querySelector('#filters [name=descending]').click()")
    page.wait("document.querySelector('#parts-pages').innerText.includes('of 49 replicas')")
    page.wait("document.querySelector('#parts tbody th').innerText.startsWith('foo-19')")
    page.run("document.querySelector('#filters [name=broker]').value = '2'")
    page.run("document.getElementById('filters').dispatchEvent(new Event('input'))")
    page.wait("document.querySelector('#parts-pages').innerText.includes('No replica matches')")


def test_the_strip_of_a_job_of_moves_is_read_by_keyboard(emptied: Site) -> None:
    page = opened(emptied)
    page.wait("document.querySelector('#strip + .legend').innerText.includes('queued')")
    page.run("document.querySelector('.strip.readable').focus()")
    page.press("Home")
    said = page.run("document.querySelector('.strip.readable').getAttribute('aria-valuetext')")
    assert said.startswith("foo-0 on broker 1, ")


def test_files_of_a_job_of_moves_are_of_its_replicas(emptied: Site) -> None:
    page = opened(emptied)
    links = "[...document.querySelectorAll('#files-section a')].map((each) => each.innerText)"
    assert page.run(links) == ["Replicas as CSV", "Replicas as JSON", "Rollback file"]


def test_a_job_of_moves_has_only_limit_b(emptied: Site) -> None:
    page = opened(emptied)
    page.tab_to("Change the limits of job 1")
    page.press("Enter")
    page.wait("document.getElementById('confirm').open")
    page.type("B=3")
    page.press("Enter")
    emptied.until(lambda: emptied.job(1)["limits"])
    assert [(each["name"], each["limit"]) for each in emptied.job(1)["limits"]] == [("B", 3)]


def test_dialogs_of_such_a_job_count_replicas(emptied: Site) -> None:
    page = opened(emptied)
    page.tab_to("Cancel job 1")
    page.press("Enter")
    page.wait("document.getElementById('confirm').open")
    said = page.text("#confirm ul")
    assert "1 moving replica and 49 replicas not moving now stay in their directories." in said


def test_what_moves_between_directories_flows_nowhere(emptied: Site) -> None:
    page = emptied.open("#/map", FAST)
    page.wait("document.querySelector('main').innerText.includes('Nothing is left to copy between brokers.')")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_outside_of_the_window(site: Site, width: int, dark: bool) -> None:
    page = wizard(site, f"goal=empty&dirs=1:{FIRST}")
    page.resize(width, dark=dark)
    propose(page)
    page.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert page.outside() == []
