"""A process that commits until it is killed: `python -m tests.backends.writer DIRECTORY PARTITIONS`.

Commit n makes topic t-n with so many partitions, prepared in parts, and sets the controller epoch to n; a
line says when it is durable.
"""

import asyncio
import sys
from itertools import count
from pathlib import Path

from backends.sqlite.store import PART, SqliteStore
from controller.model.cluster import Change, ControllerEpoch, Partition, Topic


async def commit(store: SqliteStore, number: int, partitions: int) -> None:
    name = f"t-{number}"
    changes: list[Change] = [ControllerEpoch(number), Topic(name, number.to_bytes(16, "big"))]
    for index in range(partitions):
        changes.append(Partition(name, index, (1, 2), (1,), 1))
        if index % PART == 0:
            store.prepare(changes)
            await asyncio.sleep(0)
    await store.commit(changes)


async def main(directory: Path, partitions: int) -> None:
    store = SqliteStore(directory)
    for number in count(1):
        await commit(store, number, partitions)
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
