"""What is around every page: search, keys, tab, theme, log and login. Skipped without Chromium."""

from tests.server.page.site import FAST, IN_CHROMIUM, LISTENS, LOGIN, Site, refreshed

pytestmark = IN_CHROMIUM

TOGGLE = "window.toggle ??= DOMTokenList.prototype.toggle, DOMTokenList.prototype.toggle"
"""What the overview uses, and what shows an error does not."""


def test_a_job_is_found_and_opened_by_keyboard(site: Site) -> None:
    job = site.submit(range(40))
    page = site.open("", FAST)
    page.press("/")
    page.type(f"job {job}")
    page.wait("document.querySelector('#hits [aria-selected=true]')")
    assert page.run("document.activeElement.getAttribute('aria-activedescendant')") == "hit-0"
    page.press("Enter")
    page.wait(f"location.hash === '#/jobs/{job}'")
    page.wait("document.getElementById('found').hidden")


def test_a_search_without_a_hit_says_so(site: Site) -> None:
    page = site.open()
    page.press("/")
    page.type("nope")
    page.wait("document.getElementById('search-note').innerText === 'Nothing is named nope.'")
    page.press("Escape")
    page.wait("document.getElementById('found').hidden")


def test_keys_are_listed_and_open_pages(site: Site) -> None:
    page = site.open()
    page.press("?")
    page.wait("document.getElementById('keys').open")
    assert "Search" in page.text("#keys")
    page.press("Escape")
    page.press("g")
    page.press("s")
    page.wait("location.hash === '#/settings'")
    assert page.text("#pages [aria-current]") == "Settings"


def test_the_tab_shows_the_progress_and_what_is_wrong(site: Site) -> None:
    page = site.open("", FAST)
    assert page.run("document.title") == "Overview · reassignd"
    site.submit(range(40))
    page.wait("/^\\d+\\u00a0% · Overview · reassignd$/.test(document.title)")
    icon = page.run("document.getElementById('icon').href")
    site.post("brokers/3/stop")
    page.wait("document.title.startsWith('⚠ ')")
    page.wait("document.getElementById('icon').href !== " + repr(icon))


def test_the_theme_is_kept(site: Site) -> None:
    page = site.open()
    light = page.run("getComputedStyle(document.body).backgroundColor")
    for _ in range(2):
        page.run("document.getElementById('theme').click()")
    assert page.run("document.documentElement.dataset.theme") == "dark"
    assert page.run("getComputedStyle(document.body).backgroundColor") != light
    again = site.open()
    assert again.run("document.documentElement.dataset.theme") == "dark"
    again.run("localStorage.removeItem('theme')")


def test_the_log_says_what_happens(site: Site) -> None:
    page = site.open()
    page.wait(LISTENS)
    job = site.submit(range(3))
    page.wait(f"document.getElementById('log').innerText.includes('Job {job} was accepted: 3 partitions.')")
    site.post(f"jobs/{job}/pause")
    page.wait(f"document.getElementById('log').innerText.includes('Job {job} is paused.')")
    site.post("brokers/3/stop")
    page.wait("document.getElementById('log').innerText.includes('Broker 3 is offline.')")
    assert page.run("document.querySelector('#log a').getAttribute('href')") == "#/brokers/3"


def test_a_fault_of_a_page_is_shown_and_does_not_end_its_refreshes(site: Site) -> None:
    page = site.open("", FAST)
    page.run(f"{TOGGLE} = () => {{ throw new Error('it broke'); }}, 0")
    page.wait("document.getElementById('trouble').innerText === 'This page has a fault: it broke'")
    page.wait("document.getElementById('pill').innerText === 'fault'")
    page.run(f"{TOGGLE} = window.toggle, 0")
    page.wait("document.getElementById('trouble').hidden")
    page.wait("document.getElementById('pill').innerText === 'healthy'")


HIDABLE = """
window.asked = 0;
window.isHidden = false;
const ask = window.fetch;
window.fetch = (...given) => {
  window.asked += 1;
  return ask(...given);
};
Object.defineProperty(document, "hidden", { get: () => window.isHidden });
window.hide = (hidden) => {
  window.isHidden = hidden;
  document.dispatchEvent(new Event("visibilitychange"));
};
"""
"""Counts requests, and lets a test hide the tab."""


def test_a_hidden_tab_asks_for_nothing(site: Site) -> None:
    page = site.open("", FAST + HIDABLE)
    page.run("window.hide(true)")
    refreshed(page)
    asked = page.run("window.asked")
    refreshed(page, 20)
    assert page.run("window.asked") == asked
    page.run("window.hide(false)")
    page.wait(f"window.asked > {asked}")


def test_a_tab_that_is_hidden_during_a_refresh_does_not_ask_for_events(site: Site) -> None:
    hides = """
    window.posted = [];
    window.SharedWorker = class {
      port = { postMessage: (message) => window.posted.push(message) };
    };
    const counted = window.fetch;
    window.fetch = async (...given) => {
      const answer = await counted(...given);
      if (window.hidesNow) window.hide(true);
      return answer;
    };"""
    page = site.open("", FAST + HIDABLE + hides)
    page.wait("window.posted.length")
    page.run("window.hidesNow = true")
    page.wait("window.isHidden")
    refreshed(page)
    assert page.run("window.posted.at(-1)") == {"close": True}


def test_what_the_user_asked_for_is_read_though_the_stream_asks_too(site: Site) -> None:
    paced = site.open().run(
        """(async () => {
          const { Live } = await import("/live.js");
          const seen = [];
          const live = new Live(({ paced }) => {
            seen.push(paced);
            if (seen.length > 1) return;
            live.refresh();
            live.refresh(true);
          }, () => {}, () => false);
          await live.refresh(true);
          return seen;
        })()"""
    )
    assert paced == [True, False]


def test_a_reader_reads_once_a_minute_at_least(site: Site) -> None:
    loads = site.open().run(
        """(async () => {
          const { Reader } = await import("/reader.js");
          let loads = 0;
          const reader = new Reader(async () => {
            loads += 1;
            return 1e9;
          }, 1000);
          const seen = [];
          const began = performance.now();
          for (const after of [0, 50_000, 61_000]) {
            performance.now = () => began + after;
            await reader.read();
            seen.push(loads);
          }
          delete performance.now;
          return seen;
        })()"""
    )
    assert loads == [1, 1, 2]


def test_an_address_without_a_page_says_so(site: Site) -> None:
    page = site.open("#/nowhere")
    assert page.text("#content h1") == "There is no such page"
    page.run("location.hash = '#job-7'")
    page.wait("location.hash === '#/jobs/7'")
    page.wait("document.getElementById('gone')?.hidden === false")


def test_the_login_says_what_it_needs_and_that_a_token_is_wrong(locked: Site) -> None:
    page = locked.page()
    page.wait("!document.getElementById('login').hidden")
    assert page.text("#login h1") == "Sign in to reassignd"
    assert page.run("document.getElementById('trouble').hidden")
    page.type("wrong")
    page.press("Enter")
    page.wait("document.getElementById('trouble').innerText === 'This token is not valid.'")
    page.run("document.getElementById('token').select()")
    page.type(LOGIN)
    page.press("Enter")
    page.wait("!document.getElementById('content').hidden")
    page.wait(LISTENS)
    page.run("document.getElementById('leave').click()")
    page.wait("!document.getElementById('login').hidden")


def test_the_header_names_the_active_one_of_several_instances(site: Site) -> None:
    assert not site.open("").run("document.getElementById('active').checkVisibility()")
    several = """
      const json = Response.prototype.json;
      Response.prototype.json = async function () {
        const answer = await json.call(this);
        const active = { instance: 'i-1', url: 'http://kafka-2:9080', term: 7, instances: 3 };
        return answer.cluster_id ? { ...answer, active } : answer;
      };"""
    page = site.open("", several)
    page.wait("document.getElementById('active').checkVisibility()")
    assert page.text("#active") == "kafka-2:9080 of 3, term 7"
    page.resize(390)
    assert page.outside() == []
