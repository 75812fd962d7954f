import asyncio
from collections.abc import AsyncIterator

import pytest

from backends.zookeeper.session.tree import Watch, WatchLoop, ZookeeperError
from backends.zookeeper.znodes.fields import Rejections, ZnodeError
from common.clock import settle
from common.tasks import cancel, spawn


class Subject:
    """A reader that counts its runs and keeps its watch."""

    def __init__(self) -> None:
        self.looks = 0
        self.watch: Watch = lambda: None
        self.error: Exception | None = None

    async def look(self, watch: Watch) -> None:
        self.looks += 1
        self.watch = watch
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error


class Rounds:
    def __init__(self) -> None:
        self.ended = 0

    async def end(self) -> None:
        self.ended += 1


@pytest.fixture
def rounds() -> Rounds:
    return Rounds()


@pytest.fixture
async def watch_loop(rounds: Rounds) -> AsyncIterator[WatchLoop]:
    watch_loop = WatchLoop(rounds.end, Rejections())
    task = spawn(watch_loop.run(), "watch_loop")
    yield watch_loop
    await cancel(task)


async def test_a_reader_runs_once_and_again_when_its_watch_fires(
    watch_loop: WatchLoop, rounds: Rounds
) -> None:
    subject = Subject()
    watch_loop.add("a", subject.look)
    watch_loop.add("a", subject.look)
    await settle()
    subject.watch()
    subject.watch()
    await settle()
    assert (subject.looks, rounds.ended) == (2, 2)


async def test_a_dropped_reader_does_not_run(watch_loop: WatchLoop) -> None:
    subject = Subject()
    watch_loop.add("a", subject.look)
    await settle()
    watch_loop.drop("a")
    subject.watch()
    await settle()
    assert subject.looks == 1


async def test_invalid_data_is_ignored_and_read_again_when_it_changes(
    watch_loop: WatchLoop, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = Subject(), Subject()
    bad.error = ZnodeError("it is not JSON")
    watch_loop.add("/a", bad.look)
    watch_loop.add("/b", good.look)
    await settle()
    bad.watch()
    await settle()
    assert (bad.looks, good.looks) == (2, 1)
    assert "/a is ignored: it is not JSON" in caplog.text


async def test_wake_starts_a_round_without_readers(watch_loop: WatchLoop, rounds: Rounds) -> None:
    watch_loop.wake()
    await settle()
    assert rounds.ended == 1


async def test_the_loop_ends_when_zookeeper_cannot_be_read(rounds: Rounds) -> None:
    watch_loop, subject = WatchLoop(rounds.end, Rejections()), Subject()
    subject.error = ZookeeperError("lost")
    watch_loop.add("a", subject.look)
    with pytest.raises(ZookeeperError, match="lost"):
        await watch_loop.run()
