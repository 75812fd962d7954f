"""The page in a second browser, by keyboard alone. Skipped where there is no Firefox."""

from collections.abc import Iterator

import httpx
import pytest

from tests.reassignd.shell import SLOW, started
from tools.firefox import MISSING, Firefox, firefox

pytestmark = [pytest.mark.whole, pytest.mark.skipif(firefox() is None, reason=MISSING)]

PAGES = (
    "", "map", "jobs", "brokers", "brokers/2", "topics", "topics/foo", "topics/foo/0", "load", "plan",
    "plan/propose", "settings", "history",
)  # fmt: skip


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = started(tmp_path_factory.mktemp("firefox") / "data", SLOW)
    yield f"http://{server.http}/"
    server.kill()


@pytest.fixture(scope="module")
def page() -> Iterator[Firefox]:
    program = firefox()
    assert program is not None
    with Firefox(program) as page:
        yield page


def opened(page: Firefox, url: str, path: str) -> None:
    page.go("about:blank")
    page.go(f"{url}#/{path}")
    page.wait("document.querySelector('#content:not([hidden]) h1')")


@pytest.mark.parametrize("path", PAGES)
def test_every_page_fits_into_the_window(page: Firefox, url: str, path: str) -> None:
    for width in (1440, 500):
        page.resize(width)
        opened(page, url, path)
        page.wait("document.querySelectorAll('#content .card').length")
        assert page.run("document.documentElement.scrollWidth <= innerWidth")
        assert page.run("document.getElementById('trouble').hidden")


def test_a_broker_is_drained_by_keyboard(page: Firefox, url: str) -> None:
    page.resize(1440)
    opened(page, url, "brokers")
    page.wait("document.querySelector('#broker-list tbody a')")
    page.tab_to("Broker 2")
    page.press("Enter")
    page.wait("location.hash === '#/brokers/2' && document.querySelector('.page-head .badges > *')")
    page.tab_to("Drain…")
    page.press("Enter")
    page.wait("document.querySelector('#wizard:not([hidden]) [name=broker]:checked')")
    page.tab_to("Propose")
    page.press("Enter")
    page.wait("document.querySelector('#result:not([hidden]) #plan-numbers')")
    assert "proven" in page.run("document.getElementById('plan-numbers').innerText")
    page.tab_to(page.run("document.getElementById('start-now').innerText"))
    page.press("Enter")
    page.wait("document.querySelector('#started a')")
    page.tab_to("Show job 1")
    page.press("Enter")
    page.wait("document.querySelector('#parts tbody tr')")
    [job] = httpx.get(f"{url}v1/jobs").json()["jobs"]
    assert job["total"] > 0
