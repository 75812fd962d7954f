"""The same in asyncio: the client has a thread of its own, and its calls wait in others.

`python in_asyncio.py BOOTSTRAP`.
"""

import asyncio
import sys

from kafka import TopicPartition

from reassignd.admin import ReassigndAdminClient


async def main(bootstrap: str) -> None:
    """Move a partition, show the step in flight until it ends, and cancel what is left."""
    admin = await asyncio.to_thread(ReassigndAdminClient, bootstrap_servers=bootstrap)
    try:
        order = await asyncio.to_thread(admin.order, {TopicPartition("clicks", 5): [1, 2, 3]})
        print(f"job {order.job}")
        for _ in range(100):
            if not (batch := await asyncio.to_thread(admin.current_batch)):
                break
            print(*(f"{key.topic}-{key.partition} goes to {each.target}" for key, each in batch.items()))
            await asyncio.sleep(0.5)
        await asyncio.to_thread(admin.cancel_all)
    finally:
        await asyncio.to_thread(admin.close)


asyncio.run(main(sys.argv[1]))
