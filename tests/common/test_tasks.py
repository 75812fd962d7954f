import asyncio
import logging

import pytest

from common.clock import settle
from common.tasks import cancel, spawn


async def fail() -> None:
    raise ValueError("of all things")


async def wait() -> None:
    await settle(1_000)


async def test_a_task_that_fails_is_logged_under_its_name(caplog: pytest.LogCaptureFixture) -> None:
    await asyncio.wait([spawn(fail(), "our-task")])
    [record] = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.ERROR, "our-task ended by an error")


async def test_the_error_of_a_task_is_passed_to_the_callback() -> None:
    errors: list[BaseException] = []
    await asyncio.wait([spawn(fail(), "our-task", errors.append)])
    assert list(map(str, errors)) == ["of all things"]


async def test_a_task_that_is_cancelled_or_ends_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    await cancel(spawn(wait(), "waits"))
    await spawn(settle(1), "ends")
    assert caplog.records == []
