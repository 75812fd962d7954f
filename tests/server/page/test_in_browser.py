"""The page in a browser, with a running server. Skipped where there is no Chromium."""

import json
from typing import Any

import pytest

from common.wording import counted
from tests.server.page.site import FAST, IN_CHROMIUM, LOGIN, MARKUP, WITH_MARKUP, Open, Site, refreshed
from tools.chromium import Page

pytestmark = IN_CHROMIUM


def test_focus_and_selection_survive_refreshes(site: Site) -> None:
    job = site.submit(range(40))
    page = site.open(f"#/jobs/{job}", FAST)
    page.wait("document.querySelector('#parts tbody tr')")
    page.tab_to(f"Cancel job {job}")
    page.run("window.kept = document.activeElement")
    page.run("getSelection().selectAllChildren(document.querySelector('#parts tbody tr:last-child th'))")
    selected = page.run("getSelection().toString()")
    before = page.text(".job-card .legend")
    page.wait(f"document.querySelector('.job-card .legend').innerText !== {json.dumps(before)}")
    refreshed(page)
    assert page.run("window.kept === document.activeElement && window.kept.isConnected")
    assert page.run("getSelection().toString()") == selected


def test_a_row_keeps_the_focus_when_others_come_before_it(site: Site) -> None:
    first = site.submit(range(20))
    page = site.open("", FAST)
    page.tab_to(f"Cancel job {first}")
    second = site.submit(range(20, 40))
    page.wait(f"document.querySelector('#running h3 a').innerText === 'Job {second}'")
    assert page.run("document.activeElement.getAttribute('aria-label')") == f"Cancel job {first}"


@pytest.mark.tour
def test_a_stopped_broker_is_shown_in_red(site: Site) -> None:
    page = site.open("", FAST)
    assert page.text("#pill") == "healthy"
    site.post("brokers/3/stop")
    page.wait("document.getElementById('problems').innerText.includes('Broker 3 is offline')")
    assert (page.text("#pill"), page.run("document.getElementById('pill').className")) == (
        "unhealthy",
        "badge bad",
    )
    red = "[...document.querySelectorAll('#numbers .bad')].map((each) => each.previousSibling.innerText)"
    page.wait("document.querySelectorAll('#numbers .bad').length === 2")
    assert page.run(red) == ["brokers", "under-replicated"]
    assert page.run("getComputedStyle(document.querySelector('#numbers .bad')).color") != page.run(
        "getComputedStyle(document.body).color"
    )


def test_a_pause_is_shown_with_its_time_and_its_user(site: Site) -> None:
    page = site.open("", FAST)
    assert page.run("document.getElementById('paused').hidden")
    site.post("pause")
    page.wait("document.getElementById('paused').innerText.includes('since')")
    user = site.api.get("whoami").json()["principal"]
    assert f", by {user}: steps in flight finish" in page.text("#paused")
    assert page.text("#pill") == "paused"


@pytest.mark.parametrize(
    ("holds", "pill", "said"),
    [
        (0, "unhealthy, holding", "The health guard starts repairs only. It found: missing: broker 8"),
        (1, "unhealthy", "The health guard starts one step at a time. It found: missing: broker 8"),
        (None, "unhealthy", "The health guard is off: steps start nevertheless. It found: missing: broker 8"),
    ],
)
def test_the_health_guard_is_shown(site: Site, holds: int | None, pill: str, said: str) -> None:
    health: dict[str, Any] = {
        "problems": [],
        "trouble": "missing: broker 8",
        "holds": holds,
        "unseen_since_ms": None,
    }
    page = site.open("", with_health(health))
    assert (page.text("#pill"), page.text("#problems")) == (pill, said)


def test_a_cluster_that_does_not_answer_is_not_shown_as_the_present_one(site: Site) -> None:
    health = {"problems": ["no route"], "trouble": "no route", "holds": 0, "unseen_since_ms": 1_000}
    page = site.open("", with_health(health))
    said = page.text("#problems")
    assert said.startswith("The Kafka cluster has not answered since ")
    assert said.endswith(": no steps start, and what is shown of it is of that time. no route")


def with_health(health: dict[str, Any]) -> str:
    """Return a script that puts this in place of the health that the server answers."""
    return f"""
    const read = Response.prototype.json;
    Response.prototype.json = async function () {{
      const body = await read.call(this);
      return body.health ? {{ ...body, health: {json.dumps(health)} }} : body;
    }};"""


def test_cancelled_partitions_are_not_shown_as_done(site: Site) -> None:
    job = site.submit(range(30))
    site.until(lambda: site.job(job)["done"] > 0)
    site.post("reassignments/cancel", {"all": True})
    site.until(lambda: site.job(job)["ended_ms"])
    done = site.job(job)["done"]
    page = site.open()
    assert page.text("#jobs tbody td:nth-child(4) span") == f"{done} of 30 done"
    assert page.run("document.querySelector('#jobs progress').value") == done
    assert f"{30 - done} rolled back" in page.text("#jobs tbody tr")


def choose(page: Page, label: str, question: str, *typed: str, action: str = "") -> None:
    """Press a button, fill in its dialog, and confirm. An action is dangerous: it does not have the focus."""
    page.tab_to(label)
    page.press("Enter")
    page.wait("document.getElementById('confirm').open")
    assert page.text("#confirm h2") == question
    for text in typed:
        page.run("document.activeElement.select()")
        page.type(text)
    if action:
        assert page.run("document.activeElement.innerText") == "Back"
        page.tab_to(action)
    page.press("Enter")
    page.wait("!document.getElementById('confirm').open")


def press(page: Page, label: str) -> None:
    page.tab_to(label)
    page.press("Enter")


def test_jobs_are_run_by_keyboard_alone(site: Site) -> None:
    job = site.submit(range(40))
    page = site.open("", FAST)
    choose(page, f"Pause job {job}", f"Pause job {job}?")
    site.until(lambda: site.job(job)["state"] == "paused")
    press(page, f"Resume job {job}")
    site.until(lambda: site.job(job)["state"] == "running")
    choose(page, f"Change the priority of job {job}", f"Priority of job {job}", "7")
    site.until(lambda: site.job(job)["priority"] == 7)
    choose(page, f"Change the throttle of job {job}", f"Throttle of job {job}", "50 MB")
    site.until(lambda: site.job(job)["throttle"] == 50_000_000)
    choose(page, f"Change the limits of job {job}", f"Limits of job {job}", "P=3 B=2")
    site.until(lambda: [row["limit"] for row in site.job(job)["limits"]] == [3, 2])
    press(page, "Settings")
    choose(page, "Change limit P", "Partitions that move at once (limit P)", "2")
    site.until(lambda: site.api.get("limits").json()["limits"][1]["limit"] == 2)
    press(page, "Overview")
    choose(page, "Pause everything", "Pause everything?")
    site.until(lambda: site.api.get("status").json()["paused"])
    press(page, "Resume everything")
    choose(page, f"Cancel job {job}", f"Cancel job {job}?", action="Cancel the job")
    site.until(lambda: site.job(job)["ended_ms"])


def test_a_dialog_shows_the_numbers_of_a_rollback_before_it_starts(site: Site) -> None:
    job = site.submit(range(40))
    site.until(lambda: site.job(job)["done"] > 0)
    site.post("pause")
    site.until(lambda: site.job(job)["moving"] == 0)
    page = site.open("", FAST)
    page.tab_to(f"Roll back job {job}")
    page.press("Enter")
    page.wait("document.getElementById('confirm').open")
    done = site.job(job)["done"]
    says = page.text("#confirm")
    assert f"{counted(done, 'partition')} will move back to the original replicas" in says
    assert f"{counted(40 - done, 'partition')} not moved yet will only leave job {job}." in says
    page.press("Escape")
    page.wait("!document.getElementById('confirm').open")
    assert site.api.get("jobs").json()["total"] == 1
    page.press("Enter")
    page.wait("document.getElementById('confirm').open")
    page.tab_to("Roll back")
    page.press("Enter")
    page.wait("document.getElementById('said').innerText")
    assert page.text("#said") == f"Job {job + 1} rolls back job {job}."


def test_a_wrong_number_is_refused_in_the_dialog(site: Site) -> None:
    page = site.open("#/settings")
    page.tab_to("Change limit C")
    page.press("Enter")
    page.wait("document.getElementById('confirm').open")
    page.type("0")
    page.press("Enter")
    page.wait("document.getElementById('confirm-error').innerText")
    assert page.run("document.getElementById('confirm').open")


def test_a_pause_is_shown_without_an_audit_log(site: Site) -> None:
    """As in ZooKeeper mode without `audit.dir`."""
    refusing = """
    const ask = window.fetch;
    window.fetch = async (...given) => String(given[0]).includes("v1/audit")
      ? new Response('{"error": "there is no audit log"}', { status: 409 }) : ask(...given);"""
    site.post("pause")
    page = site.open("", refusing)
    assert page.text("#paused") == "Everything is paused: steps in flight finish, no others start."


def test_partitions_that_are_read_less_often_show_their_time(site: Site) -> None:
    slow = f"""
    const ask = window.fetch;
    window.fetch = async (...given) => {{
      if (String(given[0]).includes("v1/jobs/{site.submit(range(40))}?"))
        await new Promise((go) => setTimeout(go, 150));
      return ask(...given);
    }};"""
    page = site.open("#/jobs/1", slow)
    page.wait("document.querySelector('#parts-pages span').innerText.startsWith('1 to 25 of 40 partitions')")
    page.wait("/partitions, as of .*:/.test(document.querySelector('#parts-pages span').innerText)")


def test_partitions_are_at_most_ten_seconds_old_however_long_a_read_takes(site: Site) -> None:
    job = site.submit(range(40))
    clock = f"""
    window.now = 0; window.reads = 0;
    performance.now = () => window.now;
    const ask = window.fetch;
    window.fetch = async (...given) => {{
      if (String(given[0]).includes("v1/jobs/{job}?")) {{ window.now += 50000; window.reads += 1; }}
      return ask(...given);
    }};"""
    page = site.open(f"#/jobs/{job}", FAST + clock)
    refreshed(page)
    assert page.run("window.reads") == 1
    page.run("window.now += 10001")
    page.wait("window.reads === 2")


def test_partitions_are_filtered_sorted_and_paged(site: Site) -> None:
    site.post("pause")
    job = site.submit(range(150))
    page = site.open(f"#/jobs/{job}", FAST)
    page.wait("document.querySelectorAll('#parts tbody tr').length === 25")
    assert page.text("#parts-pages span") == "1 to 25 of 150 partitions"
    page.tab_to("Next")
    page.press("Enter")
    page.wait("document.querySelector('#parts-pages span').innerText === '26 to 50 of 150 partitions'")
    page.run("document.querySelector('#filters [name=sort]').value = 'partition'")
    page.run("document.querySelector('#filters [name=descending]').click()")
    page.wait("document.querySelector('#parts tbody th').innerText === 'foo-149'")
    page.run("document.querySelector('#filters [name=topic]').focus()")
    page.type("nope")
    page.wait("document.getElementById('parts').hidden")
    assert page.text("#parts-pages span") == "No partition matches, of 150 partitions"


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_outside_of_the_window(site: Site, width: int, dark: bool) -> None:
    site.post("brokers/3/stop")
    job = site.submit(range(30), headers={"user-agent": "x" * 150})
    page = site.open(f"#/jobs/{job}")
    page.resize(width, dark=dark)
    page.wait("document.querySelector('#parts tbody tr')")
    assert page.outside() == []
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    background = page.run("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(14, 17, 22)") is dark


def test_tables_and_bars_have_names_for_screen_readers(site: Site) -> None:
    job = site.submit(range(5))
    page = site.open(f"#/jobs/{job}")
    page.wait("document.querySelector('#parts tbody tr')")
    assert page.run("[...document.querySelectorAll('th')].every((each) => each.scope)")
    assert page.run("[...document.querySelectorAll('table')].every((each) => each.caption.innerText)")
    assert page.run("[...document.querySelectorAll('progress')].every((each) => each.ariaLabel)")
    assert page.run("document.querySelector('.bar').ariaLabel").startswith(f"Job {job}: ")


def test_a_moving_partition_has_a_rate(start: Open) -> None:
    site = start(**{"embedded.network.bytes.per.second": "5000"})
    job = site.submit(range(1))
    page = site.open(f"#/jobs/{job}")
    rate = "document.querySelector('#parts [data-label=rate]')"
    page.wait(f"/^[1-9].*B.s$/.test({rate}?.innerText)")


def test_values_with_markup_are_shown_as_text(site: Site) -> None:
    site.submit(range(5), headers={"user-agent": MARKUP})
    page = site.open()
    assert MARKUP in page.text("#running")
    assert page.run("document.images.length") == 0


def test_answers_with_markup_are_shown_as_text(site: Site) -> None:
    job = site.submit(range(60))
    for path, selectors in (
        (f"#/jobs/{job}", ("#summary", "#job-reasons", "#parts")),
        ("", ("#running", "#reasons", "#problems")),
    ):
        page = site.open(path, WITH_MARKUP)
        for selector in selectors:
            page.wait(f"document.querySelector('{selector}').innerText.includes({json.dumps(MARKUP)})")
        assert page.run("document.images.length") == 0


def test_a_page_without_a_token_does_not_ask_again(locked: Site) -> None:
    page = locked.page("", FAST)
    page.wait("!document.getElementById('login').hidden")
    asked = "performance.getEntriesByType('resource').filter((each) => each.name.includes('/v1/')).length"
    # The first refresh sends two requests, of which the first one that is refused shows the form.
    page.wait(f"{asked} >= 2")
    refreshed(page, 20)
    assert page.run(asked) == 2
    assert page.run("document.getElementById('content').hidden")
    page.type(LOGIN)
    page.press("Enter")
    page.wait("!document.getElementById('content').hidden")
    assert page.text("#pill") == "healthy"


def test_a_page_survives_a_restart_of_the_server(site: Site) -> None:
    job = site.submit(range(40))
    page = site.open("", FAST)
    site.server.kill()
    page.wait("document.getElementById('pill').innerText === 'unreachable'")
    site.server.start()
    page.wait("document.getElementById('trouble').hidden")
    assert page.text("#running h3 a") == f"Job {job}"


def on_request(script: str) -> str:
    """Return a script that runs `script` before each request, with its `path` and `options`.

    `script` may return a response in place of the server's.
    """
    return f"""
    const send = window.fetch.bind(window);
    const instead = (path, options) => {{ {script} }};
    window.fetch = async (path, options) => instead(path, options) ?? send(path, options);
    """


SENT = on_request("window.sent = options.body ?? window.sent;")
"""Keeps the body of the last request that had one."""


def propose(page: Page, job: str, *brokers: int) -> None:
    """Choose the job and brokers in the wizard, and wait for the proposal or an error."""
    page.wait("!document.getElementById('wizard').hidden")
    page.run(f"document.querySelector('[name=job][value={job}]').click()")
    for broker in brokers:
        page.run(f"document.querySelector('[name=broker][value=\"{broker}\"]').click()")
    page.run("document.getElementById('propose').click()")
    page.wait("!document.getElementById('result').hidden || !document.getElementById('trouble').hidden")


def test_a_drain_is_proposed_with_numbers_and_started(site: Site) -> None:
    page = site.page("#/plan/propose")
    propose(page, "drain", 6)
    assert "Moves 99 replicas" in page.text("#summary")
    assert "Forecast: " in page.text("#summary")
    assert page.run("document.querySelectorAll('#charts svg rect').length") == 3 * 2 * 6
    assert page.text("#start-now") == "Start: copy 99 replicas"
    assert site.api.get("jobs").json()["total"] == 0
    page.run("document.querySelector('[name=throttle]').value = 5000")
    page.run("document.getElementById('start-now').click()")
    page.wait("document.querySelector('#started a')")
    assert page.run("document.querySelector('#started a').getAttribute('href')") == "#/jobs/1"
    job = site.job(1)
    assert (job["total"], job["throttle"]) == (99, 5000)


def test_the_throttle_that_is_typed_changes_the_forecast_of_a_proposal(site: Site) -> None:
    page = site.page("#/plan/propose")
    propose(page, "drain", 6)
    before = page.text("#plan-numbers")
    field = "document.querySelector('#start [name=throttle]')"
    page.run(f"{field}.focus()")
    page.type("1KB")
    page.wait("document.getElementById('throttled').innerText.startsWith('Takes ')")
    said = page.text("#summary")
    assert "at 1 kB/s per broker" in said
    assert "The rate is the throttle of this job." in said
    assert page.text("#plan-numbers") != before
    page.run(f"{field}.dispatchEvent(new Event('input'))")
    assert page.text("#throttled") == ""
    page.run(f"{field}.select()")
    page.type("fast")
    page.wait("document.getElementById('throttled').innerText.startsWith('Enter bytes per second')")
    assert "at 1 kB/s" not in page.text("#summary")


REVIEWS = "window.reviews = [];" + on_request("if (path.includes('/review')) window.reviews.push(path);")
"""Keeps the paths of requests for a review."""


def test_no_forecast_is_asked_for_once_the_job_is_started(site: Site) -> None:
    page = site.page("#/plan/propose", REVIEWS)
    propose(page, "drain", 6)
    assert "Forecast: " in page.text("#summary")
    type_and_start = """(() => {
      const field = document.querySelector('#start [name=throttle]');
      field.value = '1KB';
      field.dispatchEvent(new Event('input'));
      field.form.requestSubmit();
    })()"""
    page.run(type_and_start)
    page.wait("document.querySelector('#started a')")
    page.run("new Promise((done) => setTimeout(done, 600))")
    assert page.text("#started strong") == "Job 1 is started."
    assert (page.run("window.reviews.length"), site.job(1)["throttle"]) == (0, 1000)
    assert (page.text("#throttled"), "Forecast: " in page.text("#summary")) == ("", False)


WITH_NOTE = """(() => {
  const read = Response.prototype.json;
  Response.prototype.json = async function () {
    const body = await read.call(this);
    return body.notes ? { ...body, notes: ["Kafka is slow"] } : body;
  };
})()"""


def test_a_broker_that_is_empty_already_is_only_excluded(start: Open) -> None:
    site = start(**{"embedded.network.bytes.per.second": "1000000000"})
    page = site.page("#/plan/propose")
    propose(page, "drain", 6)
    assert "From the start on, broker 6 gets no new partitions" in page.text("#summary")
    page.run("document.getElementById('start-now').click()")
    page.wait("document.querySelector('#started a')")
    site.until(lambda: site.job(1)["state"] == "ended")
    site.post("placement", {"allow": [6]})
    page.run("document.getElementById('propose').click()")
    page.wait("document.getElementById('start-now').innerText === 'Exclude broker 6'")
    page.run("document.getElementById('start-now').click()")
    page.wait("document.querySelector('#started strong')")
    assert page.text("#started strong") == "Broker 6 gets no new partitions."
    assert site.api.get("placement").json()["excluded"] == [6]
    site.post("placement", {"allow": [6]})
    page.run(WITH_NOTE)
    page.run("document.getElementById('propose').click()")
    page.wait("!document.getElementById('result').hidden && !document.getElementById('start').hidden")
    page.run("document.getElementById('start-now').click()")
    page.wait("document.querySelector('#started p')")
    said = (page.text("#started strong"), page.text("#started p"))
    assert said == ("Broker 6 is excluded.", "Kafka is slow")


def test_topics_and_bytes_are_options_of_a_balance(site: Site) -> None:
    page = site.page("#/plan/propose", SENT)
    for name, value in (("spread", "topic"), ("minimize", "bytes"), ("by", "replicas")):
        page.run(f"document.querySelector('[name={name}]').value = '{value}'")
    propose(page, "balance")
    assert json.loads(page.run("window.sent")) == {
        "balance": True, "by": "replicas", "spread": "topic", "minimize": "bytes"
    }  # fmt: skip
    propose(page, "drain", 6)
    assert json.loads(page.run("window.sent")) == {"drain": [6]}


def test_a_proposal_that_is_out_of_date_is_made_again(site: Site) -> None:
    page = site.page("#/plan/propose")
    propose(page, "drain", 6)
    moved = site.submit(range(3, 4))  # from brokers 4, 5, 6
    site.until(lambda: site.job(moved)["state"] == "ended")
    page.run("document.getElementById('start-now').click()")
    page.wait("document.getElementById('trouble').innerText.includes('propose again')")
    page.run("document.getElementById('again').click()")
    page.wait("document.getElementById('trouble').hidden && !document.getElementById('result').hidden")
    page.run("document.getElementById('start-now').click()")
    page.wait("document.querySelector('#started a')")
    assert site.job(moved + 1)["state"] == "running"


AT_ONCE = "document.getElementById('cancel').click()"
WITH_ITS_NUMBER = f"""
new MutationObserver((_, watch) => {{
  if (!document.getElementById('phase').innerText) return;
  watch.disconnect();
  {AT_ONCE};
}}).observe(document.getElementById('phase'), {{ childList: true, characterData: true, subtree: true }})
"""


@pytest.mark.parametrize("cancel", [AT_ONCE, WITH_ITS_NUMBER])
def test_a_proposal_is_cancelled_from_its_first_moment_on(site: Site, cancel: str) -> None:
    page = site.page("#/plan/propose?goal=balance")
    page.wait("!document.getElementById('wizard').hidden")
    page.run(f"(() => {{ document.getElementById('propose').click(); {cancel}; }})()")
    page.wait("document.getElementById('progress-of-proposal').hidden")
    site.until(lambda: site.api.get("proposals").json()["proposals"] == [])
    assert page.run("document.getElementById('result').hidden && document.getElementById('trouble').hidden")
    propose(page, "balance")
    assert "Forecast" in page.text("#summary") or "Nothing to move" in page.text("#summary")


def test_a_cancel_that_fails_is_shown(site: Site) -> None:
    refusal = """new Response('{"error": "It is not yours."}', { status: 403 })"""
    refuse = f"if (options.method === 'DELETE') return {refusal};"
    page = site.page("#/plan/propose?goal=balance", on_request(refuse))
    page.wait("!document.getElementById('wizard').hidden")
    page.run(f"(() => {{ document.getElementById('propose').click(); {AT_ONCE}; }})()")
    page.wait("document.getElementById('progress-of-proposal').hidden")
    assert page.text("#trouble") == "It is not yours."


def test_a_page_that_is_closed_does_not_ask_for_its_proposal(site: Site) -> None:
    note = "if (path.startsWith('v1/proposals')) window.asked.push(options.method);"
    page = site.page("#/plan/propose?goal=balance", "window.asked = [];" + on_request(note))
    page.wait("!document.getElementById('wizard').hidden")
    page.run("document.getElementById('propose').click(); location.hash = '#/brokers'; null")
    site.until(lambda: site.api.get("proposals").json()["proposals"])
    page.run("new Promise((done) => setTimeout(done, 500))")
    assert page.run("window.asked") == ["POST"]


def test_the_wizard_shows_why_no_plan_can_be_proposed(site: Site) -> None:
    page = site.page("#/plan/propose")
    propose(page, "drain")
    assert page.text("#trouble") == "Choose at least one broker."
    propose(page, "drain", 1, 2, 3, 4)
    page.wait("document.getElementById('trouble').innerText.includes('need 3 replicas')")
    assert page.run("document.getElementById('result').hidden")
