"""Brokers, topics, partitions and settings on the page, in a browser. Skipped where there is no Chromium."""

import json
from functools import partial
from typing import Any

import pytest

from tests.server.page.site import FAST, IN_CHROMIUM, Site
from tools.chromium import Page

pytestmark = IN_CHROMIUM


def rows(page: Page, table: str) -> list[str]:
    """Return the first cell of each row."""
    found: list[str] = page.run(
        f"[...document.querySelectorAll('#{table} tbody th')].map((each) => each.innerText)"
    )
    return found


def shows(page: Page, text: str, inside: str = "content") -> None:
    page.wait(f"document.getElementById('{inside}').innerText.includes({json.dumps(text)})")


def find(page: Page, text: str) -> None:
    """Search by keyboard."""
    page.run("document.querySelector('.tools input[type=search]').select()")
    page.run("document.querySelector('.tools input[type=search]').focus()")
    page.type(text)


def is_excluded(site: Site, brokers: list[int]) -> bool:
    """Return whether exactly these brokers get no new partitions."""
    return bool(site.api.get("placement").json()["excluded"] == brokers)


def test_brokers_are_searched_sorted_and_opened_by_keyboard(site: Site) -> None:
    page = site.open("#/brokers", FAST)
    page.wait("document.querySelectorAll('#broker-list tbody tr').length === 6")
    page.tab_to("broker")
    page.press("Enter")
    page.wait("document.querySelector('#broker-list tbody th').innerText === 'Broker 6'")
    assert page.run("document.querySelector('#broker-list th').getAttribute('aria-sort')") == "descending"
    find(page, "rack-b")
    page.wait("document.querySelectorAll('#broker-list tbody tr').length === 2")
    assert rows(page, "broker-list") == ["Broker 5", "Broker 2"]
    page.tab_to("Broker 2")
    page.press("Enter")
    page.wait("location.hash === '#/brokers/2'")
    shows(page, "Log directories")
    shows(page, "leaders")


def test_a_broker_says_whether_it_can_be_stopped(site: Site) -> None:
    page = site.open("#/brokers/2", FAST)
    page.tab_to("Can it be stopped?")
    page.press("Enter")
    shows(page, "No: broker 2 holds or gets 101 replicas: foo-0")
    page.run("location.hash = '#/brokers/99'")
    shows(page, "There is no broker 99.")


def test_a_broker_is_excluded_and_allowed_again(site: Site) -> None:
    page = site.open("#/brokers/2", FAST)
    steps: list[tuple[str, list[int]]] = [("No new partitions…", [2]), ("Allow new partitions…", [])]
    for button, excluded in steps:
        page.tab_to(button)
        page.press("Enter")
        page.wait("document.querySelector('dialog[open]')")
        page.press("Enter")
        site.until(partial(is_excluded, site, excluded))
        page.wait("!document.querySelector('dialog[open]')")
    site.post("placement", {"exclude": [3]})
    page.run("location.hash = '#/settings'")
    page.wait("document.querySelector('#placement-section li')")
    assert page.text("#placement-section li a") == "Broker 3"


def test_a_drain_of_the_broker_has_its_goal_filled_in(site: Site) -> None:
    page = site.open("#/brokers/2", FAST)
    page.tab_to("Drain…")
    page.press("Enter")
    page.wait("document.querySelector('[name=broker][value=\"2\"]')?.checked")
    page.run("document.getElementById('propose').click()")
    page.wait("!document.getElementById('result').hidden")
    assert "no plan moves fewer: proven" in page.text("#plan-numbers")


def test_topics_lead_to_their_partitions(site: Site) -> None:
    site.submit(range(3))
    page = site.open("#/topics", FAST)
    page.wait("document.querySelector('#topic-list tbody th a')")
    assert rows(page, "topic-list") == ["foo"]
    find(page, "nothing")
    shows(page, "No topic matches.")
    find(page, "fo")
    page.wait("document.querySelector('#topic-list tbody tr')")
    page.tab_to("foo")
    page.press("Enter")
    page.wait("document.querySelectorAll('#partitions-of-topic tbody tr').length === 25")
    page.tab_to("Next")
    page.press("Enter")
    page.wait("document.querySelector('#partitions-of-topic tbody th').innerText === 'foo-25'")
    page.tab_to("foo-26")
    page.press("Enter")
    page.wait("location.hash === '#/topics/foo/26'")
    shows(page, "at rest")


def test_a_partition_shows_why_it_waits_and_is_cancelled(site: Site) -> None:
    site.submit(range(40))
    page = site.open("#/topics/foo/39", FAST)
    shows(page, "limit P: 1 of 1 partition movements")
    page.tab_to("Cancel the move…")
    page.press("Enter")
    page.wait("document.querySelector('dialog[open]')")
    assert "It returns to its original replicas" in page.text("#confirm ul")
    page.run("document.getElementById('confirm-ok').click()")
    shows(page, "at rest")


def test_a_refused_cancel_of_a_partition_is_said(site: Site) -> None:
    site.submit(range(40))
    page = site.open("#/topics/foo/39")
    shows(page, "limit P: 1 of 1 partition movements")
    page.tab_to("Cancel the move…")
    page.press("Enter")
    page.wait("document.querySelector('dialog[open]')")
    site.post("reassignments/cancel", {"partitions": [{"topic": "foo", "partition": 39}]})
    page.run("document.getElementById('confirm-ok').click()")
    page.wait("!document.getElementById('said').hidden")
    assert page.text("#said").startswith("0 partitions cancelled. 1 partition refused: ")


def test_the_replicas_of_a_partition_are_chosen_as_a_plan(site: Site) -> None:
    page = site.open("#/topics/foo/0", FAST)
    page.tab_to("Choose its replicas…")
    page.press("Enter")
    page.wait("document.getElementById('review')?.hidden === false")
    entry: Any = json.loads(page.run("document.getElementById('plan').value"))["partitions"][0]
    assert (entry["topic"], entry["partition"], len(entry["replicas"])) == ("foo", 0, 3)


def test_topics_are_moved_to_chosen_brokers(site: Site) -> None:
    page = site.open("#/topics/foo", FAST)
    page.tab_to("Move it to other brokers…")
    page.press("Enter")
    page.wait("document.querySelector('[name=broker][value=\"2\"]')")
    assert page.text(".picked li").startswith("foo")
    page.run("document.getElementById('propose').click()")
    page.wait("document.getElementById('trouble').innerText === 'Choose at least one broker.'")
    for broker in (1, 2, 3):
        page.run(f"document.querySelector('[name=broker][value=\"{broker}\"]').click()")
    page.run("document.getElementById('propose').click()")
    page.wait("!document.getElementById('result').hidden")
    page.run("document.getElementById('start-now').click()")
    page.wait("document.querySelector('#started a')")
    assert site.api.get("placement").json()["excluded"] == []


def test_topics_are_found_by_a_part_of_their_name(site: Site) -> None:
    page = site.open("#/plan/propose", FAST)
    page.wait("!document.getElementById('wizard').hidden")
    page.run("document.querySelector('.picker input[type=search]').focus()")
    page.type("FO")
    page.wait("document.querySelector('.found input')")
    page.press("Enter")
    page.wait("document.querySelector('.picked li')")
    page.tab_to("Remove foo")
    page.press("Enter")
    page.wait("!document.querySelector('.picked li')")
    assert page.run("document.activeElement.placeholder") == "Find topics by name"


def test_hours_are_dragged_checked_and_saved(site: Site) -> None:
    page = site.open("#/settings", FAST)
    page.wait("document.querySelector('.week.editable')")
    page.run("""(() => {
      const week = document.querySelector('.week');
      const box = week.getBoundingClientRect();
      const [width] = week.getAttribute('viewBox').split(' ').slice(2).map(Number);
      const point = (hour, day) => ({
        clientX: box.left + ((40 + 30 * hour) * box.width) / width,
        clientY: box.top + ((18 + 22 * day + 10) * box.width) / width,
        pointerId: 1,
      });
      week.setPointerCapture = () => {};
      const send = (type, at) => week.dispatchEvent(new PointerEvent(type, { ...at, bubbles: true }));
      send('pointerdown', point(1, 0));
      send('pointermove', point(5, 2));
      send('pointerup', point(5, 2));
    })()""")
    assert page.run("document.getElementById('schedule-text').value") == "Mon-Wed 01:00-05:00"
    page.wait("document.getElementById('schedule-check').innerText.startsWith('If you save it: ')")
    page.tab_to("Save the schedule")
    page.press("Enter")
    site.until(lambda: site.api.get("schedule").json()["schedule"] == "Mon-Wed 01:00-05:00")
    page.wait("document.querySelectorAll('.week .open').length === 3")


def test_hours_are_opened_by_fields_alone(site: Site) -> None:
    page = site.open("#/settings", FAST)
    page.wait("document.querySelector('.week.editable')")
    page.tab_to("Open these hours")
    page.press("Enter")
    assert page.run("document.getElementById('schedule-text').value") == "Mon-Fri 22:00-06:00"


def test_a_viewer_changes_nothing(site: Site) -> None:
    viewer = """
      const json = Response.prototype.json;
      Response.prototype.json = async function () {
        const answer = await json.call(this);
        return answer.role ? { ...answer, role: 'viewer' } : answer;
      };"""
    page = site.open("#/brokers/2", viewer)
    shows(page, "Can it be stopped?")
    assert "Drain" not in page.text("#content")
    page.run("location.hash = '#/settings'")
    shows(page, "Partitions that move at once")
    page.wait("[...document.querySelectorAll('#content button')].every((each) => !each.checkVisibility())")


@pytest.mark.parametrize(
    "path", ["brokers", "brokers/2", "topics", "topics/foo", "topics/foo/0", "settings", "plan/propose"]
)
def test_nothing_is_outside_of_a_narrow_window(site: Site, path: str) -> None:
    page = site.open(f"#/{path}", FAST)
    page.wait("document.querySelector('#content h1')")
    page.resize(390)
    page.wait("document.querySelectorAll('#content .card').length > 0")
    assert page.outside() == []


def propose(page: Page) -> None:
    page.run("document.getElementById('propose').click()")  # hides the last result at once
    page.wait("!document.getElementById('result').hidden")


def confirm(page: Page, typed: str) -> None:
    """Enter a text in the dialog, wait for its effect, and confirm."""
    page.wait("document.querySelector('dialog[open]')")
    page.type(typed)
    page.wait("document.querySelectorAll('dialog[open] li').length > 1")
    page.press("Enter")
    page.wait("!document.querySelector('dialog[open]')")


def test_ticked_partitions_of_a_topic_move_to_chosen_brokers(site: Site) -> None:
    page = site.open("#/topics/foo", FAST)
    page.wait("document.querySelector('[data-pick=\"foo-3\"]')")
    for name in ("Choose foo-1", "Choose foo-3"):
        page.tab_to(name)
        page.press("Space")
    shows(page, "2 partitions chosen")
    page.tab_to("Move to other brokers…")
    page.press("Enter")
    page.wait("document.querySelector('[name=broker][value=\"2\"]')")
    assert page.run("[...document.querySelectorAll('.picked li')].map((each) => each.firstChild.data)") == [
        "foo-1",
        "foo-3",
    ]
    for broker in (1, 2, 3):
        page.run(f"document.querySelector('[name=broker][value=\"{broker}\"]').click()")
    propose(page)
    [kept] = site.api.get("proposals").json()["proposals"]
    plan = site.api.get(f"proposals/{kept['id']}/plan").json()["partitions"]
    assert {each["partition"] for each in plan} <= {1, 3}


def test_single_partitions_are_found_and_ticked_in_the_builder(site: Site) -> None:
    page = site.open("#/plan/propose?goal=to", FAST)
    page.wait("!document.getElementById('wizard').hidden")
    page.run("document.querySelector('#partitions-of-wizard summary').click()")
    find(page, "fo")
    page.wait("document.querySelector('[data-pick=\"foo-7\"]')")
    for name in ("foo-7", "foo-8"):
        page.tab_to(f"Choose {name}")
        page.press("Space")
    page.wait("document.querySelectorAll('.picked li').length === 2")
    page.tab_to("Remove foo-7")
    page.press("Enter")
    page.wait("!document.querySelector('[data-pick=\"foo-7\"]').checked")
    assert page.run("document.activeElement.ariaLabel") == "Remove foo-8"
    page.press("Enter")
    assert page.run("document.activeElement.innerText") == "or single partitions"


def test_a_demoted_broker_leads_again_by_itself(site: Site) -> None:
    site.limit(P=None)
    page = site.open("#/brokers/2", FAST)
    page.tab_to("Demote…")
    page.press("Enter")
    page.wait("document.querySelector('[name=broker][value=\"2\"]')?.checked")
    propose(page)
    page.run("document.getElementById('start-now').click()")
    confirm(page, "2h")
    page.wait("document.querySelector('#started a')")
    [restore] = site.api.get("status").json()["restores"]
    page.run(f"location.hash = '#/jobs/{restore['job']}'")
    shows(page, "Restores at ")
    page.run("location.hash = '#/'")
    page.wait("document.getElementById('restores')?.innerText.includes('will be rolled back at')")


LONG = f"{'a' * 120}.{'b' * 120}-{'c' * 7}"
"""As long as a topic's name may be."""

WITH_A_LONG_NAME = f"""
const json = Response.prototype.json;
Response.prototype.json = async function () {{
  const long = (name, value) => (name === "topic" && value === "foo" ? {json.dumps(LONG)} : value);
  return JSON.parse(JSON.stringify(await json.call(this)), long);
}};"""


@pytest.mark.parametrize(
    ("path", "cell"),
    [
        ("topics", "tbody th"),
        ("topics/foo", "tbody th"),
        ("jobs/1", "#parts tbody th"),
        (f"topics/{LONG}", "h1"),
    ],
)
@pytest.mark.parametrize("width", [390, 1280])
def test_long_names_fit_and_a_pointer_shows_them_whole(site: Site, path: str, cell: str, width: int) -> None:
    site.submit(range(3), params={"paused": "true"})
    page = site.open(f"#/{path}", FAST + WITH_A_LONG_NAME)
    page.resize(width)
    page.wait(f"document.querySelector('#content {cell}')?.textContent.length > 60")
    assert page.outside() == []
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    if cell != "h1":
        page.wait(f"document.querySelector('#content {cell}').textContent.includes('…')")
        assert page.run(f"document.querySelector('#content {cell}').outerHTML").count(LONG) >= 1


def kept_goals(site: Site) -> Any:
    """Return the goals of the newest proposal."""
    return site.api.get("proposals").json()["proposals"][0]["goals"]


def test_a_proposal_is_started_paused_by_keyboard(site: Site) -> None:
    page = site.open("#/plan/propose?goal=drain&brokers=2", FAST)
    page.wait("document.querySelector('[name=broker]:checked')")
    page.tab_to("Propose")
    page.press("Enter")
    page.wait("document.activeElement.id === 'result-title'")
    page.tab_to("Start paused")
    page.press("Enter")
    page.wait("document.activeElement.matches('#started a')")
    assert page.text("#started").startswith("Job 1 is submitted: no step starts until it is resumed.")
    assert (site.job(1)["state"], site.job(1)["moving"]) == ("paused", 0)


def test_topics_get_several_factors_by_keyboard(site: Site) -> None:
    page = site.open("#/plan/propose?goal=rf", FAST)
    page.wait("!document.getElementById('wizard').hidden")
    page.tab_to("Another factor…")
    page.press("Enter")
    page.run("document.activeElement.select()")
    page.type("2")
    page.press("Tab")
    page.type("fo.")
    page.tab_to("Propose")
    page.press("Enter")
    shows(page, "Enter which topics get the factor 3, such as orders.*", "trouble")
    page.tab_to("Remove this factor")
    page.press("Enter")
    assert page.run("document.activeElement.value") == "2"
    page.press("Enter")
    page.wait("document.activeElement.id === 'result-title'")
    assert kept_goals(site) == ["rf", "2:fo."]


def test_lost_replicas_are_replaced_but_those_that_come_back(site: Site) -> None:
    site.post("brokers/6/stop")
    page = site.open("#/plan/propose?goal=repair", FAST)
    page.wait("document.querySelector('[name=broker]')")
    propose(page)
    assert kept_goals(site) == ["repair"]
    assert "Moves 99 replicas" in page.text("#summary")
    page.run("document.querySelector('[name=broker][value=\"6\"]').click()")
    propose(page)
    assert "Nothing to move" in page.text("#summary")


def test_a_message_names_the_field_instead_of_the_option(site: Site) -> None:
    page = site.open("#/plan/propose?goal=load", FAST)
    page.wait("!document.getElementById('wizard').hidden")
    page.run("document.getElementById('propose').click()")
    shows(page, "“Count rates that are not known as 0”", "trouble")


def test_full_brokers_are_relieved(site: Site) -> None:
    page = site.open("#/plan/propose?goal=relieve", FAST)
    page.wait("document.querySelector('[name=broker]')")
    assert page.run("document.querySelector('[name=relieve_over]').checkVisibility()")
    page.run("document.getElementById('propose').click()")
    page.wait("!document.getElementById('result').hidden || !document.getElementById('trouble').hidden")
    [kept] = site.api.get("proposals").json()["proposals"]
    assert kept["goals"] == ["relieve", "85%:75%"]
