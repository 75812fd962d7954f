"""A network of its own for each broker of a cluster on this machine, by the kernel's traffic control.

Without it, the copies of a move are limited by the processors, which all brokers and producers share. Brokers on hosts of
their own are limited by their network or disks.
"""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

BURST = "128k"
"""What a broker may send at once."""
SMALL_FETCHES = {"replica.fetch.max.bytes": "65536", "replica.fetch.response.max.bytes": "655360"}
"""Brokers' settings for slow networks. A fetch delays produces of other partitions for as long as it is sent: with the
default of 1 MiB for 42 ms at 25 MB/s, but for 1 ms at 10 Gbit/s. With these settings it is 3 ms at 25 MB/s."""


@contextmanager
def limited(ports: Sequence[int], megabytes: float) -> Iterator[None]:
    """Limit what is sent from each of these ports to so many MB/s. Needs root; other traffic is not limited.

    Raises RuntimeError with the message of `tc`.
    """
    rate = f"{round(megabytes * 8)}mbit"
    _tc("qdisc replace dev lo root handle 1: htb default 99 r2q 1000")
    try:
        for number, port in enumerate(ports, 1):
            _tc(
                f"class add dev lo parent 1: classid 1:{number} htb rate {rate} ceil {rate}"
                f" burst {BURST} cburst {BURST} quantum 65536"
            )
            _tc(f"filter add dev lo parent 1: protocol ip u32 match ip sport {port} 0xffff flowid 1:{number}")
        yield
    finally:
        _tc("qdisc del dev lo root")


def _tc(arguments: str) -> None:
    done = subprocess.run(["tc", *arguments.split()], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"tc {arguments}: {done.stderr.strip()}")
