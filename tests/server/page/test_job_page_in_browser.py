"""The page of a job in a browser: its life, its strip, its files. Skipped where there is no Chromium."""

import csv
import json
from io import StringIO

from tests.server.page.site import FAST, IN_CHROMIUM, Open, Site
from tools.chromium import Page

pytestmark = IN_CHROMIUM

CHART, STRIP = ".chart.readable", ".strip.readable"


def opened(site: Site, job: int) -> Page:
    page = site.open(f"#/jobs/{job}", FAST)
    page.wait("document.querySelectorAll('#events li').length")
    page.wait("document.querySelectorAll('#parts tbody tr').length")
    return page


def value(page: Page, selector: str) -> str:
    """Return what the cursor over a drawing says."""
    text: str = page.run(f"document.querySelector('{selector}').getAttribute('aria-valuetext')")
    return text.replace("\xa0", " ")


def test_nothing_was_copied_before_the_first_sample(site: Site) -> None:
    samples = "{ times: [60000, 65000], rates: [7, 8], ended: [1, 2], throttles: [null, null] }"
    life = f"{{ from_ms: 0, until_ms: 70000, since_ms: %s, samples: {samples}, brokers: [], holds: [] }}"
    shown = "import('./timeline.js').then(({ lifeOf }) => lifeOf(%s, 9).series[0])"
    page = site.open()
    assert page.run(shown % (life % "0"))["values"] == [0, 7, 8]
    assert page.run(shown % (life % "0"))["times"] == [55000, 60000, 65000]
    assert page.run(shown % (life % "30000"))["values"] == [None, 7, 8], "the server started later"


def test_the_timeline_says_what_happened(site: Site) -> None:
    job = site.submit(range(60))
    site.post(f"jobs/{job}/pause")
    site.post(f"jobs/{job}/throttle", {"throttle": 50_000_000})
    page = opened(site, job)
    page.wait("document.querySelectorAll('#events li').length >= 3")
    text = page.text("#events")
    assert "submitted: 60 partitions of foo" in text
    assert "paused: job 1" in text
    assert "throttle none → 50 MB/s" in text
    page.wait("document.querySelectorAll('.chart .span').length === 1")
    site.post(f"jobs/{job}/resume")
    page.wait("document.getElementById('events').innerText.includes('resumed')")


def test_the_chart_is_read_by_keyboard(site: Site) -> None:
    page = opened(site, site.submit(range(60)))
    page.wait("document.querySelector('.chart .grid text')")
    page.run(f"document.querySelector('{CHART}').focus()")
    page.press("Home")
    page.wait("!document.querySelector('.chart .tip').hidden")
    assert "submitted" in value(page, CHART)
    page.press("Escape")
    page.wait("document.querySelector('.chart .tip').hidden")


def test_the_strip_counts_partitions_and_filters_them(site: Site) -> None:
    site.post("pause")
    page = opened(site, site.submit(range(60)))
    page.wait("document.querySelector('#strip + .legend').innerText.includes('60 queued')")
    page.run(f"document.querySelector('{STRIP}').focus()")
    page.press("Home")
    assert value(page, STRIP) == "foo-0, queued"
    page.press("Enter")
    page.wait("document.querySelector('#filters [name=topic]').value === 'foo'")


def test_a_step_whose_target_is_down_is_shown_as_stalled(start: Open) -> None:
    site = start(**{"embedded.network.bytes.per.second": "10"})
    job = site.submit(range(1))
    site.post("brokers/4/stop")
    page = opened(site, job)
    page.wait("document.querySelector('.job-card .badge').innerText === 'stalled'")
    assert page.text(".job-card .legend") == "1 stalled"
    assert page.text(".job-card .until").startswith("No end is known: target broker 4 is down.")
    assert page.text("#parts tbody [data-label=state]") == "stalled"
    page.wait("document.querySelector('#strip + .legend').innerText === '1 stalled'")


def test_replicas_are_chips_before_and_after(site: Site) -> None:
    site.post("pause")
    rows = [{"topic": "foo", "partition": 0, "replicas": [1, 2, 6]}]
    before = site.api.get("topics/foo/partitions/0").json()["partition"]["replicas"]
    page = opened(site, site.post("jobs", {"partitions": rows})["job"])
    removed = [each for each in before if each not in (1, 2, 6)]
    added = [each for each in (1, 2, 6) if each not in before]
    assert page.run("[...document.querySelectorAll('#parts del')].map((each) => +each.innerText)") == removed
    assert page.run("[...document.querySelectorAll('#parts ins')].map((each) => +each.innerText)") == added


def test_files_and_commands_are_at_hand(site: Site) -> None:
    page = opened(site, site.submit(range(3)))
    paths = page.run(
        "[...document.querySelectorAll('#files-section a')].map((each) => each.getAttribute('href'))"
    )
    assert paths == [f"v1/jobs/1/{name}" for name in ("partitions.csv", "partitions.json", "rollback.json")]
    text = site.api.get(paths[0].removeprefix("v1/")).text
    assert len(list(csv.DictReader(StringIO(text)))) == 3
    page.run("document.querySelector('#files-section summary').click()")
    assert "reassignd rollback 1" in page.text("#files-section")


def test_a_phone_shows_a_job_in_four_screens(site: Site) -> None:
    job = site.submit(range(60))
    page = site.page()
    page.resize(390, 844)
    page.go("about:blank")
    page.go(f"{site.url}#/jobs/{job}")
    page.wait("document.querySelectorAll('#parts tbody tr').length === 6")
    page.wait("document.querySelectorAll('#events li').length")
    assert page.run("document.documentElement.scrollHeight") <= 4 * 844
    assert page.outside() == []


def test_moves_between_directories_name_them(site: Site) -> None:
    lines = map(json.loads, site.api.get("snapshot").text.splitlines())
    [foo] = [row for row in lines if (row.get("topic"), row.get("partition")) == ("foo", 0)]
    first, second = (f"/embedded/broker-1/logs-{number}" for number in (0, 1))
    source = foo["log_dirs"][foo["replicas"].index(1)]
    replica = {"topic": "foo", "partition": 0, "broker": 1, "target": second if source == first else first}
    job = site.post("disk-moves", {"moves": [replica]}, params={"paused": "true"})["job"]
    text = opened(site, job).text("#parts").replace("\xa0", " ")
    assert "foo-0 on broker 1" in text
    assert f"{source}\t{replica['target']}" in text
    assert "Cancel…" not in text
