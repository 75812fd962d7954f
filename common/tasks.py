"""Background tasks whose failures are logged."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

log = logging.getLogger(__name__)


def spawn(
    work: Coroutine[Any, Any, None], name: str, on_failure: Callable[[BaseException], None] = lambda _: None
) -> asyncio.Task[None]:
    """Start a task. An exception that ends it is logged and passed to `on_failure`."""

    def ended(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s ended by an error", task.get_name(), exc_info=error)
            on_failure(error)

    task = asyncio.create_task(work, name=name)
    task.add_done_callback(ended)
    return task


async def cancel(*tasks: asyncio.Task[Any]) -> None:
    """Cancel the tasks and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
