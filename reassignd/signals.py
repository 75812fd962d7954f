"""SIGTERM and SIGINT: the first asks for a clean stop, the second ends the process at once."""

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Coroutine

log = logging.getLogger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT)


async def until_signalled(serving: Coroutine[None, None, None], stop_seconds: float) -> None:
    """Run `serving` until it ends, or a signal cancels it; raises what it raises.

    When it has not ended `stop_seconds` after the signal, the process ends as it is: what was acknowledged is on disk,
    and the next start goes on from there, so this is no failure.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(serving, name="serving")

    def stop(number: signal.Signals) -> None:
        log.info("stopping on %s", number.name)
        for each in SIGNALS:
            loop.remove_signal_handler(each)
            signal.signal(each, signal.SIG_DFL)
        loop.call_later(stop_seconds, _give_up, stop_seconds)
        task.cancel()

    for each in SIGNALS:
        loop.add_signal_handler(each, stop, each)
    with contextlib.suppress(asyncio.CancelledError):
        await task


def _give_up(stop_seconds: float) -> None:
    log.warning("not stopped after %g s, giving up; what was acknowledged is on disk", stop_seconds)
    os._exit(0)
