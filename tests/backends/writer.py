"""A process that commits until it is killed: `python -m tests.backends.writer DIRECTORY`.

Commit n makes topic t-n with two partitions and sets the controller epoch to n; a line says when it is durable.
"""

import asyncio
import sys
from itertools import count
from pathlib import Path

from backends.sqlite.store import SqliteStore
from controller.model.cluster import Change, ControllerEpoch, Partition, Topic


def batch(number: int) -> list[Change]:
    name = f"t-{number}"
    partitions = [Partition(name, index, (1, 2), (1,), 1) for index in range(2)]
    return [ControllerEpoch(number), Topic(name, number.to_bytes(16, "big")), *partitions]


async def main(directory: Path) -> None:
    store = SqliteStore(directory)
    for number in count(1):
        await store.commit(batch(number))
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
