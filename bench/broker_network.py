"""A network of its own for each broker of a cluster on this machine, by the kernel's traffic control.

Without it, the copies of a move are limited by the processors, which all brokers and producers share. Brokers
on hosts of their own are limited by their network or disks.
"""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

BURST = "128k"
"""What a broker may send at once."""
FETCH_SECONDS = 0.84e-3
"""How long a network of 10 Gbit/s sends Kafka's default for `replica.fetch.max.bytes`, 1 MiB."""


def fetch_settings(megabytes: float) -> dict[str, str]:
    """Return brokers' settings with which a fetch takes as long at so many MB/s as by default at 10 Gbit/s.

    A fetch delays produces of other partitions for as long as it is sent: with the default for 42 ms at 25
    MB/s.
    """
    size = round(megabytes * 1e6 * FETCH_SECONDS)
    return {"replica.fetch.max.bytes": str(size), "replica.fetch.response.max.bytes": str(10 * size)}


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
