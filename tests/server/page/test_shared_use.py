"""Two browsers at once, and a server that is killed under open pages. Skipped without Chromium."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.page.site import FAST, IN_CHROMIUM, LISTENS, Open, Site, refreshed
from tools.chromium import Browser, Page, chromium

pytestmark = IN_CHROMIUM


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Browser]:
    """A second browser, with a profile of its own."""
    program = chromium()
    assert program is not None
    browser = Browser(program)
    yield browser
    browser.close()


@pytest.fixture
def pages(site: Site, other: Browser) -> tuple[Page, Page]:
    """The page in two browsers, with one job."""
    site.submit(range(60))
    return site.open("", FAST), Site(site.server, other).open("", FAST)


def press(page: Page, label: str, *keys: str) -> None:
    """Use a button, and the keys in the dialog that it opens."""
    page.tab_to(label)
    page.press("Enter")
    for key in keys:
        page.wait("document.querySelector('dialog[open]')")
        page.tab_to(key)
        page.press("Enter")


def test_what_one_user_does_is_shown_to_the_other(pages: tuple[Page, Page]) -> None:
    one, two = pages
    press(one, "Pause everything", "Pause everything")
    two.wait("document.getElementById('pill').innerText === 'paused'")
    two.wait("document.getElementById('paused').innerText.includes('Everything is paused since')")
    press(two, "Resume everything")
    one.wait("document.getElementById('paused').hidden")


def test_eight_tabs_share_one_stream_of_events(site: Site) -> None:
    tabs = [site.open() for _ in range(8)]
    for tab in tabs:
        tab.wait(LISTENS)
    job = site.submit(range(3))
    for tab in tabs:
        tab.wait(f"document.getElementById('log').innerText.includes('Job {job} was accepted')")


def test_a_browser_without_shared_workers_gets_events_in_each_tab(site: Site) -> None:
    tab = site.open(before="delete window.SharedWorker")
    tab.wait(LISTENS)


def test_a_dialog_stays_open_while_another_user_ends_the_job(site: Site, pages: tuple[Page, Page]) -> None:
    one, two = pages
    job = site.api.get("jobs").json()["jobs"][0]["id"]
    one.tab_to(f"Cancel job {job}")
    one.press("Enter")
    one.wait("document.querySelector('dialog[open]')")
    press(two, f"Cancel job {job}", "Cancel the job")
    site.until(lambda: site.job(job)["state"] == "ended")
    refreshed(one)
    assert one.run("document.querySelector('dialog[open]') !== null")
    one.tab_to("Cancel the job")
    one.press("Enter")
    one.wait("!document.getElementById('said').hidden")
    assert one.text("#said") == "0 partitions cancelled."


def test_both_pages_go_on_after_the_server_was_killed(site: Site, pages: tuple[Page, Page]) -> None:
    site.server.kill()
    for page in pages:
        page.wait("document.getElementById('pill').innerText === 'unreachable'")
        assert page.text("#running article"), "what was read last stays in view"
    site.server.start()
    for page in pages:
        page.wait("document.getElementById('trouble').hidden")
        page.wait("document.getElementById('pill').innerText !== 'unreachable'")


def test_an_action_without_a_server_is_not_lost_in_silence(start: Open) -> None:
    site = start()
    site.limit(P=1)
    job = site.submit(range(60))
    page = site.open("", FAST)
    page.tab_to(f"Pause job {job}")
    page.press("Enter")
    page.wait("document.querySelector('dialog[open]')")
    site.server.kill()
    page.tab_to("Pause")
    page.press("Enter")
    page.wait("document.getElementById('said').innerText === 'reassignd does not answer.'")
