"""What an instance knows of itself and of others."""

import asyncio

import pytest

from backends.state_topic.claim import Lease
from backends.state_topic.history import History
from common.clock import ManualClock
from reassignd.runtime import presence as module
from reassignd.runtime.presence import FORGET_MS, MOST_STANDBYS, Presence
from tests.backends.state_topic.builders import Log, a_claim


class Site:
    """An instance whose time is a number."""

    def __init__(self, name: str = "own") -> None:
        self.history, self.clock, self.now, self.ended = History(), ManualClock(), 1000, 0
        self.lease: Lease | None = None
        self.presence = Presence(
            name, f"http://{name}", lambda: self.history, lambda: self.lease, self.end, lambda: self.now
        )

    def end(self) -> None:
        self.ended += 1


def test_the_standbys_that_were_heard_lately_are_listed() -> None:
    site, other = Site(), Site("other")
    other.history.end_offset = 7
    site.presence.heard("other", other.presence.status())
    own, standby = site.presence.rows()
    assert (own.id, own.active) == ("own", True)
    assert (standby.id, standby.active, standby.lag, standby.url) == ("other", False, 7, "http://other")
    site.now += FORGET_MS + 1
    assert len(site.presence.rows()) == 1


def test_a_status_of_another_form_is_ignored() -> None:
    site = Site()
    for status in (b"", b"garbage", b"{}"):
        site.presence.heard("other", status)
    assert len(site.presence.rows()) == 1


def test_the_number_of_standbys_is_bounded() -> None:
    site = Site()
    for number in range(MOST_STANDBYS + 5):
        site.presence.heard(f"i{number}", site.presence.status())
    assert len(site.presence.rows()) == 1 + MOST_STANDBYS


def test_changes_of_the_active_instance_are_counted() -> None:
    site = Site()
    for term, instance in enumerate(["a", "a", "b", "a"], 1):
        site.now = 100 * term
        site.presence.claimed(a_claim(term, instance=instance))
    assert (site.presence.changes, site.presence.active_since_ms) == (2, 400)


def test_the_lease_tells_whether_the_instance_is_active() -> None:
    site = Site()
    assert (site.presence.active, site.presence.lease_seconds) == (False, 0)
    site.lease = Lease(site.clock, 4.0)
    assert (site.presence.active, site.presence.lease_seconds) == (False, 0)
    site.lease.renew(0.0)
    assert (site.presence.active, site.presence.lease_seconds) == (True, 4.0)


def test_the_topic_is_described() -> None:
    site = Site()
    assert (site.presence.term, site.presence.lag) == (0, 0)
    site.history.apply(Log().claim(a_claim(3)).batches)
    site.history.end_offset, site.presence.writes.batches = 5, 2
    assert (site.presence.term, site.presence.lag, site.presence.batches) == (3, 4, 2)
    assert (site.presence.foreign_batches, site.presence.batch_seconds) == (0, 0)


async def test_a_hand_over_begins_after_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.01)
    site = Site()
    site.presence.hand_over()
    assert site.ended == 0
    await asyncio.sleep(0.1)
    assert site.ended == 1
