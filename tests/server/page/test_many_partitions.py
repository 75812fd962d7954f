"""A job with many partitions in the page: the page reads and draws a part of them.

Skipped without Chromium.
"""

import json
from contextlib import closing
from typing import Any

from protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from tests.server.page.site import FAST, IN_CHROMIUM, Open, Site, refreshed
from tools.chromium import Page
from tools.raw_connection import RawConnection

pytestmark = IN_CHROMIUM

TOPICS, PARTITIONS = 4, 5_000
ROWS = 25
"""Rows of a page of partitions."""


def with_large_job(site: Site) -> int:
    """Create topics and submit a job with all of their partitions, one of which moves; return the job."""
    rows = [CreatableReplicaAssignment(number, (1, 2)) for number in range(PARTITIONS)]
    names = [f"large-{number}" for number in range(TOPICS)]
    with closing(RawConnection(site.server.bootstrap)) as connection:
        for name in names:
            request = CreateTopicsRequest([CreatableTopic(name, -1, -1, rows)])
            (topic,) = connection.ask(request, 7).topics
            assert topic.error_code == 0
    entries = [
        {"topic": name, "partition": n, "replicas": [1, 3]} for name in names for n in range(PARTITIONS)
    ]
    number: int = site.post("jobs", {"partitions": entries})["job"]
    return number


COUNT_REQUESTS = """
window.fetched = [];
const ask = window.fetch;
window.fetch = async (...given) => {
  const answer = await ask(...given);
  window.fetched.push([String(given[0]), answer.status, (await answer.clone().text()).length]);
  return answer;
};
"""

AMOUNTS = """({
  nodes: document.getElementsByTagName('*').length,
  rows: document.querySelectorAll('#parts tbody tr').length,
  bytes: fetched.reduce((sum, [, , size]) => sum + size, 0),
  requests: fetched.length,
})"""


def opened(site: Site, job: int) -> Page:
    page = site.open(f"#/jobs/{job}", FAST + COUNT_REQUESTS)
    page.wait("document.querySelectorAll('#parts tbody tr').length")
    return page


def test_the_page_reads_and_draws_a_part_of_a_large_job(start: Open) -> None:
    site = start()
    site.limit(P=1)
    page = opened(site, with_large_job(site))
    first: Any = page.run(AMOUNTS)
    assert first["rows"] == ROWS
    assert first["nodes"] < 4_000
    assert first["bytes"] < 100_000
    assert page.text("#parts-pages span") == f"1 to 25 of {TOPICS * PARTITIONS:,} partitions"


def test_a_refresh_changes_few_nodes(start: Open) -> None:
    site = start()
    site.limit(P=1)
    page = opened(site, with_large_job(site))
    page.run(
        "window.changes = 0; new MutationObserver((list) => { changes += list.length; })"
        ".observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })"
    )
    before, nodes = page.run("rounds"), page.run(AMOUNTS)["nodes"]
    refreshed(page, 20)
    rounds = page.run("rounds") - before
    # One partition moves: its bytes, and those of its job and its broker.
    assert page.run("changes") <= 30 * rounds
    assert page.run(AMOUNTS)["nodes"] <= nodes + 10


def test_an_answer_that_has_not_changed_is_not_read_again(start: Open) -> None:
    site = start()
    site.post("pause")
    page = opened(site, with_large_job(site))
    refreshed(page, 5)
    page.run("window.fetched = []")
    refreshed(page, 5)
    answers: Any = page.run("fetched")
    unchanged = [each for each in answers if each[1] == 304]
    assert len(unchanged) >= len(answers) - 5, json.dumps(answers)
