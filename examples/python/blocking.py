"""Move partitions of a running server with kafka-python, and roll the job back.

`python blocking.py BOOTSTRAP URL`.
"""

import sys
import time

from kafka import TopicPartition

from reassignd.admin import ReassigndAdminClient

bootstrap, url = sys.argv[1:3]
with ReassigndAdminClient(bootstrap_servers=bootstrap, url=url) as admin:
    admin.set_limits(P=2)
    targets = {TopicPartition("clicks", number): [4, 5] for number in range(3)}
    order = admin.order(targets)
    assert order.job is not None, order.errors
    while admin.job(order.job)["state"] != "ended":
        time.sleep(0.1)
    print(f"job {order.job}: {admin.job(order.job)['outcome']}")
    undo = admin.roll_back(order.job)
    assert undo is not None
    while admin.job(undo)["state"] != "ended":
        time.sleep(0.1)
    print(f"job {undo}: {admin.job(undo)['outcome']}, the replicas are as before")
