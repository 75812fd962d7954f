"""A browser for all tests of the page, and servers. The tests are skipped where there is no Chromium."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.reassignd.shell import SLOW
from tests.server.page.site import LOGIN, Open, Site, running
from tools.chromium import Browser, chromium


@pytest.fixture(scope="session")
def started_browser() -> Iterator[Browser]:
    program = chromium()
    assert program is not None
    browser = Browser(program)
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def browser(started_browser: Browser) -> Browser:
    """The browser, with an empty profile."""
    started_browser.forget()
    return started_browser


@pytest.fixture
def closed_tabs(browser: Browser) -> Iterator[None]:
    """Close the tabs at the end: a page that is open reads its server again and again."""
    yield
    browser.close_tabs()


@pytest.fixture
def start(tmp_path: Path, browser: Browser) -> Iterator[Open]:
    """Start a cluster with 200 partitions, which take a second or more to move."""
    with ExitStack() as stack:

        def start(**settings: str) -> Site:
            return stack.enter_context(running(tmp_path, SLOW | settings, browser))

        yield start
        browser.close_tabs()


@pytest.fixture
def locked(tmp_path: Path, start: Open) -> Site:
    """A cluster whose page asks for `LOGIN`."""
    file = tmp_path / "token"
    file.write_text(LOGIN)
    file.chmod(0o600)
    return start(**{"http.token.file": str(file)})


@pytest.fixture
def site(start: Open) -> Site:
    """A cluster in which one partition moves at a time."""
    site = start()
    site.limit(P=1)
    return site
