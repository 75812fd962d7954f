"""What only the loop over terms shows; whole terms are in tests/zookeeper."""

from typing import Any

import pytest

from backends.zookeeper.session.tree import ZookeeperError
from backends.zookeeper.store.store import Term
from reassignd.config.config import resolve
from reassignd.runtime import zookeeper
from reassignd.runtime.zookeeper import Controller
from tests.backends.zookeeper.trees import CANDIDATE


class EnoughError(BaseException):
    """Ends the loop."""


async def pauses(monkeypatch: pytest.MonkeyPatch, *terms: str) -> list[float]:
    """How long was slept after elections: those that fail, and terms that serve or fail before."""
    rest, slept = list(terms), list[float]()
    controller = Controller(resolve([]), lambda *_: None)

    controller._candidate = CANDIDATE

    async def stand(*_: Any) -> Term:
        if rest[0] == "not elected":
            raise ZookeeperError("no election")
        return Term(1, 1)

    async def in_office(_: Term) -> None:
        if rest[0] == "served":
            controller._backoff.reset()
        raise ZookeeperError("over")

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        del rest[0]
        if not rest:
            raise EnoughError

    monkeypatch.setattr(zookeeper, "run_election", stand)
    monkeypatch.setattr(controller, "_in_office", in_office)
    monkeypatch.setattr("asyncio.sleep", sleep)
    with pytest.raises(EnoughError):
        await controller._serve()
    controller._off_loop.close()
    return slept


async def test_terms_that_come_to_nothing_are_further_and_further_apart(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert await pauses(monkeypatch, "failed", "failed", "failed", "served", "failed") == [0.5, 1, 2, 0.5, 1]
    assert "this term came to nothing: standing again in 2 s" in caplog.text


async def test_an_election_that_fails_is_soon_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await pauses(monkeypatch, *["not elected"] * 3) == [0.5, 0.5, 0.5]
