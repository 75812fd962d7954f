"""The page with the audit log, in a browser. Skipped where there is no Chromium."""

import json
import re
from contextlib import closing

import pytest
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ResourcePattern,
    ResourceType,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.server.page.site import IN_CHROMIUM, MARKUP, WITH_MARKUP, Open, Site
from tools.chromium import Page
from tools.kafka_cluster import admin_client
from tools.raw_connection import RawConnection

BROKER = 4
"""A broker, as a resource of configs."""

pytestmark = IN_CHROMIUM


def shown(page: Page, count: int) -> list[str]:
    """Wait until so many entries are shown; return their texts, the newest first."""
    page.wait(f"document.querySelectorAll('#entries tbody tr').length === {count}")
    texts: list[str] = page.run(
        "[...document.querySelectorAll('#entries tbody tr')]"
        ".map((each) => [1, 2, 3].map((place) => each.children[place].innerText).join('|'))"
    )
    return texts


def filter_by(page: Page, name: str, value: str) -> None:
    field = f"document.querySelector('#filters [name={name}]')"
    page.run(f"{field}.value = {json.dumps(value)}")
    page.run(f"{field}.dispatchEvent(new Event('input', {{ bubbles: true }}))")


def test_each_entry_says_who_did_what_in_numbers(site: Site) -> None:
    job = site.submit(range(30), params={"throttle": 50_000, "paused": "true"})
    site.post(f"jobs/{job}/priority", {"priority": 7})
    site.post(f"jobs/{job}/resume")
    site.post("pause")
    site.post("reassignments/cancel", {"job": job})
    page = site.page("#/history")
    assert shown(page, 6) == [
        "cancel||30 partitions cancelled of foo",
        "pause||everything, 30 partitions left",
        "resume|1|job 1, 30 partitions left",
        "priority|1|job 1: priority 0 → 7",
        "order|1|30 partitions of foo; throttle 50\xa0kB/s; submitted paused",
        "limits||limit P none → 1",
    ]
    user = site.api.get("whoami").json()["principal"]
    assert page.text("#entries tbody tr td:nth-child(5)") == user


def test_changes_of_acls_and_users_are_described(start: Open) -> None:
    site = start(
        **{
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found": "true",
        }
    )
    orders = ResourcePattern(ResourceType.TOPIC, "orders")
    with admin_client(site.server.bootstrap) as admin:
        admin.create_acls([ACL("User:ann", "*", ACLOperation.READ, ACLPermissionType.DENY, orders)])
        ann = [UserScramCredentialUpsertion("ann", ScramMechanism.SCRAM_SHA_256, "ann-secret")]
        admin.alter_user_scram_credentials(ann)
    page = site.page("#/history")
    assert shown(page, 2) == [
        "users||user ann: SCRAM-SHA-256 none → iterations=4096",
        "acls||created DENY READ on TOPIC orders (LITERAL) to User:ann from *",
    ]
    filter_by(page, "action", "acls")
    assert len(shown(page, 1)) == 1


def test_entries_are_filtered_and_exported(site: Site) -> None:
    first, second = site.submit(range(3)), site.submit(range(3, 6))
    page = site.page("#/history")
    shown(page, 3)
    filter_by(page, "job", str(second))
    assert shown(page, 1) == [f"order|{second}|3 partitions of foo"]
    filter_by(page, "job", "")
    filter_by(page, "topic", "foo")
    assert len(shown(page, 2)) == 2
    filter_by(page, "topic", "")
    filter_by(page, "action", "limits")
    assert shown(page, 1)[0].startswith("limits|")
    filter_by(page, "action", "order")
    assert len(shown(page, 2)) == 2
    href = page.run("document.getElementById('export').getAttribute('href')")
    assert href == "v1/audit/export?action=order"
    lines = site.api.get(href.removeprefix("v1/")).text.splitlines()
    assert [json.loads(line)["job"] for line in lines] == [first, second]
    filter_by(page, "since", "2099-01-01T00:00")
    page.wait("!document.getElementById('none').hidden")


def test_entries_are_paged(site: Site) -> None:
    for _ in range(55):
        site.post("pause")
        site.post("resume")
    page = site.page("#/history")
    shown(page, 100)
    page.tab_to("Show older")
    page.press("Enter")
    assert shown(page, 111)[-1].startswith("limits|")
    assert page.text("#entries-pages") == "111 actions"


def test_the_throttles_of_a_tool_are_one_line(site: Site) -> None:
    names = [f"{role}.replication.throttled.rate" for role in ("leader", "follower")]
    with closing(RawConnection(site.server.bootstrap)) as connection:
        for broker in range(1, 7):
            rates = [AlterableConfig(name, 0, "50000000") for name in names]
            change = AlterConfigsResource(BROKER, str(broker), rates)
            connection.ask(IncrementalAlterConfigsRequest([change], validate_only=False), 1)
    page = site.page("#/history")
    line, _ = shown(page, 2)
    assert line == (
        "limits||leader.replication.throttled.rate default → 50\xa0MB/s at brokers 1 to 6,"
        " follower.replication.throttled.rate default → 50\xa0MB/s at brokers 1 to 6"
    )
    assert "(6 requests)" in page.text("#entries tbody tr td:last-child")


def test_each_line_has_its_date(site: Site) -> None:
    page = site.page("#/history")
    shown(page, 1)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", page.text("#entries tbody th"))


def test_names_with_markup_are_shown_as_text(site: Site) -> None:
    site.submit(range(3))
    page = site.page("#/history", WITH_MARKUP)
    shown(page, 2)
    assert page.text("#entries tbody tr td:last-child") == MARKUP
    assert page.text("#entries tbody tr td:nth-child(5)") == MARKUP
    assert page.run("document.images.length") == 0


def test_the_history_outlives_a_restart_under_an_open_page(site: Site) -> None:
    site.submit(range(3))
    page = site.page("#/history")
    shown(page, 2)
    site.server.kill()
    filter_by(page, "action", "order")
    page.wait("document.getElementById('trouble').innerText === 'reassignd does not answer. Retrying.'")
    site.server.start()
    filter_by(page, "action", "")
    assert shown(page, 2)[0].startswith("order|")
    page.wait("document.getElementById('trouble').hidden")


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_outside_of_the_window(site: Site, width: int) -> None:
    site.submit(range(3), headers={"user-agent": "x" * 150})
    page = site.page("#/history")
    page.resize(width, dark=True)
    shown(page, 2)
    assert page.outside() == []
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
