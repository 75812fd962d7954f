"""Skewed producers before a real Kafka: a balance by measured load with pace, and the skew afterwards."""

from collections.abc import Iterator, Sequence

import pytest

from tests.clients.cluster import Cluster, wait_for
from tests.reassignd.shell import Shell
from tests.upstream.traffic import Traffic

pytestmark = pytest.mark.timeout(900)

HOT, COLD = 8, 16
TOLERANCE = 1.1
NOISE = 0.1
"""Part of a rate by which two measurements of a steady producer may differ on a busy machine."""
MEASURED_SECONDS = 400.0
"""Rates are known after two rounds of a minute."""
ROUNDS = 6
"""Rates of a minute in which nothing moved are known after a few."""


@pytest.fixture(autouse=True)
def sampling(shell: Shell, cluster: Cluster) -> Iterator[None]:
    shell.ok("load", "--sampling", "on")
    yield
    shell.ok("limits", "pace=none", "P=none")
    shell.ok("load", "--sampling", "off")
    cluster.wait_until_idle()


def hottest(shell: Shell, count: int) -> set[str]:
    """Return the topics of the partitions with the most bytes in, if all are known and alike."""
    answer = shell.json("load", "partitions", "--top", str(count))
    rates = [row["rates"]["in"] for row in answer["rows"]]
    known = len(rates) == count and None not in rates and max(rates) <= min(rates) * TOLERANCE
    return {row["topic"] for row in answer["rows"]} if known else set()


def skews(shell: Shell) -> tuple[float, float]:
    """Return what the broker with the most receives in all, and what from producers, by the means.

    Both are 0 if a figure is not known.
    """
    rows = [(row["rates"]["in"], row["replication_in"]) for row in shell.json("load")["rows"]]
    if any(None in each for each in rows):
        return 0.0, 0.0
    in_all, as_leader = zip(*((sum(each), each[0]) for each in rows), strict=True)
    return skew(in_all), skew(as_leader)


def skew(rates: Sequence[float]) -> float:
    """Return the highest rate by the mean."""
    return max(rates) * len(rates) / sum(rates)


def uneven(shell: Shell) -> list[float]:
    """Return those of `skews` that are not within the tolerance."""
    return [each for each in skews(shell) if not 0 < each <= TOLERANCE + NOISE]


def wait_until_measured(shell: Shell) -> None:
    """Wait until the next rates are known."""
    known = shell.json("load")["measured_ms"]
    wait_for(lambda: shell.json("load")["measured_ms"] > known, True, MEASURED_SECONDS)


def led_by_others(cluster: Cluster, *topics: str) -> list[str]:
    """Return the partitions that their preferred leaders do not lead."""
    found = [row for topic in topics for row in cluster.partitions(topic).items()]
    return [name for name, row in found if row["leader"] != row["replicas"][0]]


def test_a_balance_by_load_evens_out_what_is_measured(cluster: Cluster, shell: Shell) -> None:
    hot = cluster.create_topic([[1, 2]] * HOT, filled=False)
    cold = cluster.create_topic([[1 + n % 4, 1 + (n + 1) % 4] for n in range(COLD)], filled=False)
    by = "--by", "in,leaders-in", "--at", "now", "--tolerance", "10%"
    goal = ("balance", *by, "--topics", f"{hot}|{cold}")
    with (
        Traffic(cluster.bootstrap, hot, HOT, per_second=40, size=4000) as most,
        Traffic(cluster.bootstrap, cold, COLD, per_second=16) as least,
    ):
        wait_for(lambda: hottest(shell, HOT), {hot}, MEASURED_SECONDS)
        wait_for(lambda: min(skews(shell)) > 1.5, True, MEASURED_SECONDS)
        shell.ok("limits", "pace=auto")
        shell.ok("propose", *goal, "--execute", "--wait")
        wait_for(lambda: led_by_others(cluster, hot, cold), [])
        wait_until_measured(shell)
        for _ in range(ROUNDS):
            if not uneven(shell):
                break
            # A broker that waits too long for a processor is fenced, and does not lead again by itself.
            if moved := led_by_others(cluster, hot, cold):
                cluster.admin.do("elect", type="PREFERRED", partitions=moved)
            wait_until_measured(shell)
        assert uneven(shell) == [], shell.ok("load", "partitions", "--top", str(HOT))
    most.check()
    least.check()
