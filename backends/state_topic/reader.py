"""Reads the log during a term of this instance, so that the history stays complete."""

import asyncio
import logging
from collections.abc import Callable

from backends.state_topic.candidate import RETRY_SECONDS
from backends.state_topic.history import History
from backends.state_topic.ports import StateLog
from common.clock import Clock
from protocol.errors import DecodeError

log = logging.getLogger(__name__)


async def read_during_term(
    log_: StateLog, history: History, clock: Clock, on_read: Callable[[bool], None]
) -> None:
    """Apply what is written, until cancelled. `on_read` is that of `Candidate`. Raises TopicReplacedError.

    Ends at a batch that cannot be read: the active instance needs only what it has written itself.
    """
    while True:
        try:
            fetched = await log_.fetch(history.next_offset)
            history.end_offset = fetched.end_offset
            for batch in fetched.batches:
                history.apply([batch])
                await asyncio.sleep(0)
        except OSError:
            await clock.sleep(RETRY_SECONDS)
            continue
        except DecodeError as error:
            log.error("the state topic cannot be read, no other instance can take over: %s", error)
            return
        if fetched.batches:
            on_read(history.next_offset >= fetched.end_offset)
