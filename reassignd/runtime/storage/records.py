"""Opens the store in the data directory, and loads the state from its records."""

import asyncio
from itertools import islice
from pathlib import Path

from backends.sqlite.datadir import DATABASE, StoreError
from backends.sqlite.store import SqliteStore
from common.garbage_collector import gc_paused
from controller.ports import Store
from controller.state.state import State
from reassignd.errors import CommandError
from reassignd.runtime.storage.fresh_dir import is_worthless
from reassignd.runtime.storage.identity import FILE, refuse_moved
from reassignd.runtime.storage.kept_files import keep_files, restore_files

HEADER_BYTES = 100
"""The size of SQLite's file header. SQLite takes an empty file for a new database."""

REMEDY = "restore the data directory from a backup, or move it away to begin with an empty cluster"

RECORDS_PER_SLICE = 2_000
"""Records that are loaded before the event loop runs other tasks."""


def open_store(data_dir: Path) -> SqliteStore:
    """Open the store in the directory, and lock it. Raises CommandError if it is in use, damaged, or not writable.

    Also if its records were moved to a state topic.
    """
    records = data_dir / DATABASE
    if (data_dir / FILE).exists() and (not records.exists() or records.stat().st_size < HEADER_BYTES):
        # The file with the id is written after the database: the directory had a cluster, which must not be replaced
        # by an empty one without the operator's order.
        raise CommandError(f"{records} is missing or empty, though there is a {FILE}; {REMEDY}")
    try:
        store = SqliteStore(data_dir)
    except StoreError as error:
        raise CommandError(str(error)) from error
    try:
        restore_files(data_dir)
        refuse_moved(data_dir)
        if not (data_dir / FILE).exists() and not is_worthless(store.load()):
            # Records of one cluster have no meaning for another one, and nothing tells whose these are.
            raise CommandError(
                f"the records in {data_dir} have no {FILE}, which has the id of their cluster; {REMEDY}"
            )
        keep_files(data_dir)
    except StoreError as error:
        store.close()
        raise CommandError(str(error)) from error
    except BaseException:
        store.close()
        raise
    return store


async def load(store: Store) -> State:
    """Return the state after all records. Raises CommandError if they are damaged."""
    state = State()
    try:
        with gc_paused:
            records = iter(store.load())
            while part := list(islice(records, RECORDS_PER_SLICE)):
                state.load(part)
                await asyncio.sleep(0)
    except StoreError as error:
        raise CommandError(str(error)) from error
    except (LookupError, ValueError) as error:
        raise CommandError(f"the records contradict each other ({error!r}); {REMEDY}") from error
    return state
