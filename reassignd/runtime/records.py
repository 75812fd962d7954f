"""Records at start: where they are kept, and the state that they make."""

import asyncio
from pathlib import Path

from backends.datadir import DATABASE, StoreError
from backends.sqlite.store import SqliteStore
from common.garbage_collector import gc_paused
from controller.ports import Store
from controller.state.state import State
from reassignd.errors import CommandError
from reassignd.runtime.identity import FILE

HEADER_BYTES = 100
"""SQLite takes a smaller file for a new one, or finds it damaged."""

REMEDY = "restore the data directory from a backup, or move it away to begin with an empty cluster"

RECORDS_PER_SLICE = 2_000
"""Records loaded before others have their turn on the event loop."""


def open_store(data_dir: Path) -> SqliteStore:
    """The records in the directory. Raises CommandError when it is in use, damaged, or cannot be written."""
    records = data_dir / DATABASE
    if (data_dir / FILE).exists() and (not records.exists() or records.stat().st_size < HEADER_BYTES):
        # The id is made after the records: a cluster was here, and must not begin anew unasked.
        raise CommandError(f"{records} is missing or empty, though there is a {FILE}; {REMEDY}")
    try:
        return SqliteStore(data_dir)
    except StoreError as error:
        raise CommandError(str(error)) from error


async def load(store: Store) -> State:
    """The state that the records make. Raises CommandError when they are damaged."""
    state = State()
    try:
        with gc_paused():
            for number, record in enumerate(store.load(), 1):
                state.put(record)
                if number % RECORDS_PER_SLICE == 0:
                    await asyncio.sleep(0)
    except StoreError as error:
        raise CommandError(str(error)) from error
    except (LookupError, ValueError) as error:
        raise CommandError(f"the records contradict each other ({error!r}); {REMEDY}") from error
    return state
