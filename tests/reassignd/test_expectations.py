from collections.abc import Sequence

import pytest

from reassignd.embedded import EmbeddedCluster, ManualClock
from tests.reassignd.test_embedded import move


async def test_a_wait_names_what_is_left_and_why() -> None:
    async with EmbeddedCluster(3, clock=ManualClock()) as cluster:
        await cluster.create_topic("orders", [[1, 2]])
        await cluster.slow_broker(3, 0)
        await cluster.submit(move("orders", (3, 2)))
        with pytest.raises(
            TimeoutError,
            match=r"after 5 s, 1 partition is not done: orders-0 is at \[1, 2\], target \[3, 2\]"
            r" \(copies to \[3\]; the rate of broker 3 is 0\)",
        ):
            await cluster.wait_until_done("orders", seconds=5)


async def test_a_wait_for_other_topics_ends_at_once() -> None:
    async with EmbeddedCluster(3, clock=ManualClock()) as cluster:
        await cluster.create_topic("orders", [[1, 2]])
        await cluster.create_topic("payments", [[1]])
        await cluster.submit(move("orders", (3, 2)))
        await cluster.wait_until_done("payments", seconds=0)
        with pytest.raises(TimeoutError):
            await cluster.wait_until_done(seconds=0)


@pytest.mark.parametrize(
    ("existing", "message"),
    [
        ((), "there is no topic 'order': there are none"),
        (("orders", "clicks"), "there is no topic 'order': there are orders, clicks"),
        ("abcdef", "there is no topic 'order': there are a, b, c, d, e and 1 more"),
    ],
)
async def test_a_wait_for_an_unknown_topic_is_refused(existing: Sequence[str], message: str) -> None:
    async with EmbeddedCluster(1) as cluster:
        for name in existing:
            await cluster.create_topic(name, [[1]])
        with pytest.raises(ValueError, match=f"^{message}$"):
            await cluster.wait_until_done("order")


async def test_an_offline_target_is_named() -> None:
    async with EmbeddedCluster(3, clock=ManualClock()) as cluster:
        await cluster.create_topic("orders", [[1, 2]])
        await cluster.submit(move("orders", (3, 2)))
        await cluster.expect_moving("orders", adding=[3])
        await cluster.stop_broker(3, controlled=False)
        with pytest.raises(TimeoutError, match="broker 3 is offline"):
            await cluster.wait_until_done(seconds=1)


@pytest.mark.parametrize(
    ("topic", "adding", "message"),
    [
        ("orders", [2], r"it adds \[3\] and removes \[1\]"),
        ("payments", None, "there is no such partition"),
        ("idle", None, r"it rests at \[1\]"),
    ],
)
async def test_an_expectation_names_what_happens_instead(
    topic: str, adding: list[int] | None, message: str
) -> None:
    async with EmbeddedCluster(3, clock=ManualClock()) as cluster:
        await cluster.create_topic("orders", [[1, 2]])
        await cluster.create_topic("idle", [[1]])
        await cluster.submit(move("orders", (3, 2)))
        with pytest.raises(AssertionError, match=message):
            await cluster.expect_moving(topic, adding=adding, seconds=0.05)


async def test_only_a_manual_clock_can_be_advanced() -> None:
    async with EmbeddedCluster(1) as cluster:
        with pytest.raises(TypeError, match="ManualClock"):
            await cluster.advance(1)


async def test_two_partitions_that_are_left_are_counted() -> None:
    async with EmbeddedCluster(3, clock=ManualClock()) as cluster:
        for topic in ("clicks", "orders"):
            await cluster.create_topic(topic, [[1, 2]])
            await cluster.submit(move(topic, (3, 2)))
        with pytest.raises(
            TimeoutError, match=r"2 partitions are not done: clicks-0 is at .*; orders-0 is at"
        ):
            await cluster.wait_until_done(seconds=0)
