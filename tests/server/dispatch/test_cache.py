"""The cache of encoded answers, valid until their data changes."""

import asyncio
import inspect

import pytest

from common.off_loop import WorkerThread
from protocol.messages.update_metadata_response import UpdateMetadataResponse
from server.dispatch.cache import BodyCache, Encoded


class Rig:
    """A cache, and an answer that counts its builds."""

    def __init__(self) -> None:
        self.built = 0
        self.failure: Exception | None = None
        self.cache = BodyCache(WorkerThread())

    def build(self) -> UpdateMetadataResponse:
        if self.failure is not None:
            raise self.failure
        self.built += 1
        return UpdateMetadataResponse(self.built)

    async def get(self, revision: int, *, version: int = 0, large: bool = False) -> bytes:
        answer = self.cache.get("answer", revision, version, self.build, large=large)
        return (answer if isinstance(answer, Encoded) else await answer).body


@pytest.fixture
def rig() -> Rig:
    return Rig()


@pytest.mark.parametrize("large", [False, True])
async def test_an_answer_is_built_once_per_revision(rig: Rig, large: bool) -> None:
    assert await rig.get(7, large=large) == await rig.get(7, large=large) == b"\0\1"
    assert await rig.get(8, large=large) == b"\0\2"


async def test_each_version_has_its_own_answer(rig: Rig) -> None:
    assert await rig.get(7, version=0) == b"\0\1"
    assert await rig.get(7, version=6) == b"\0\2\0"


async def test_concurrent_requests_share_one_large_answer(rig: Rig) -> None:
    answers = await asyncio.gather(*(rig.get(7, large=True) for _ in range(5)))
    assert answers == [b"\0\1"] * 5
    assert rig.built == 1


async def test_a_cancelled_request_does_not_cancel_the_shared_answer(rig: Rig) -> None:
    first, second = (asyncio.create_task(rig.get(7, large=True)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == b"\0\1"


async def test_a_newer_revision_does_not_wait_for_the_older_one(rig: Rig) -> None:
    older = rig.cache.get("answer", 7, 0, rig.build, large=True)
    newer = rig.cache.get("answer", 8, 0, rig.build, large=True)
    assert inspect.isawaitable(older)
    assert inspect.isawaitable(newer)
    assert [(await older).body, (await newer).body] == [b"\0\1", b"\0\2"]


@pytest.mark.parametrize("large", [False, True])
async def test_a_failure_is_not_kept(rig: Rig, large: bool) -> None:
    rig.failure = ValueError("no")
    with pytest.raises(ValueError, match="no"):
        await rig.get(7, large=large)
    rig.failure = None
    assert await rig.get(7, large=large) == b"\0\1"
