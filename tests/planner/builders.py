"""Builders for tests of the planner."""

import random
from collections.abc import Collection, Sequence
from typing import Any
from xml.etree import ElementTree

from planner.model.snapshot import Broker, Partition, Snapshot
from planner.model.step_table import Move


def partition(topic: str, number: int, replicas: Sequence[int], **fields: Any) -> Partition:
    """A partition of 1000 bytes, in sync and led by its first replica, but for the fields given."""
    result = Partition(topic, number, tuple(replicas), tuple(replicas), replicas[0], 1000)
    return result._replace(**fields)


def cluster(
    *partitions: Partition, brokers: Sequence[int] = range(1, 7), dead: Collection[int] = ()
) -> Snapshot:
    """A cluster in three racks."""
    return Snapshot(
        {each: Broker(each, f"rack-{each % 3}", live=each not in dead) for each in brokers},
        {(each.topic, each.partition): each for each in partitions},
    )


def parsed(markup: str) -> ElementTree.Element:
    """The root element; raises ParseError when it is not well-formed."""
    return ElementTree.fromstring(markup)  # noqa: S314 - the page is our own


def random_move(rng: random.Random, brokers: Sequence[int]) -> Move:
    """Any lists, any ISR, and leaders as they come: most in the ISR, a few gone.

    Every third one has begun.
    """
    current, target, original = (
        tuple(rng.sample(brokers, rng.randint(1, min(6, len(brokers))))) for _ in ("now", "then", "before")
    )
    isr = tuple(broker for broker in current if rng.random() < 0.8)
    leader = rng.choice(isr) if isr and rng.random() < 0.95 else rng.choice([-1, *current])
    return Move(
        "orders", 0, current, target, isr, leader, rng.randint(1, 4), 0, rng.choice([(), (), original])
    )
