"""Short ways to say what a test of the planner needs."""

import random
from collections.abc import Collection, Sequence
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa

from planner.schedule import Move, steps_of
from planner.snapshot import Broker, Partition, Snapshot
from planner.spark import STEPS, Schedule


def partition(topic: str, number: int, replicas: Sequence[int], **fields: Any) -> Partition:
    """A partition of 1000 bytes, in sync and led by its first replica, but for the fields given."""
    made = Partition(topic, number, tuple(replicas), tuple(replicas), replicas[0], 1000)
    return made._replace(**fields)


def cluster(
    *partitions: Partition, brokers: Sequence[int] = range(1, 7), dead: Collection[int] = ()
) -> Snapshot:
    """A cluster in three racks."""
    return Snapshot(
        {each: Broker(each, f"rack-{each % 3}", live=each not in dead) for each in brokers},
        {(each.topic, each.partition): each for each in partitions},
    )


def scheduled(moves: Sequence[Move], offline: Collection[int], limit: int) -> Schedule:
    """What Spark would say, from the Python form of the same rules."""
    steps, waiting = [], []
    live = set(range(1000)) - set(offline)
    for number, move in enumerate(moves):
        reached = move.current
        for step in steps_of(move, live, limit):
            steps.append((number, *step))
            reached = step.replicas
        if reached != move.target:
            waiting.append((number, reached))
    lists = pa.list_(pa.int32())
    kinds = (pa.int64(), pa.int32(), lists, lists, lists, pa.int32(), pa.int32())
    return Schedule(_table(STEPS, kinds, steps), _table(("id", "current"), (pa.int64(), lists), waiting))


def parsed(markup: str) -> ElementTree.Element:
    """The root element; raises ParseError when it is not well-formed."""
    return ElementTree.fromstring(markup)  # noqa: S314 - the page is our own


def _table(
    names: Sequence[str], kinds: Sequence[pa.DataType], rows: Sequence[tuple[object, ...]]
) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return pa.table(
        {name: pa.array(column, kind) for name, kind, column in zip(names, kinds, columns, strict=True)}
    )


def random_move(rng: random.Random, brokers: Sequence[int]) -> Move:
    """Any two lists, any ISR, and leaders as they come: most in the ISR, a few gone."""
    current, target = (
        tuple(rng.sample(brokers, rng.randint(1, min(6, len(brokers))))) for _ in ("current", "target")
    )
    isr = tuple(broker for broker in current if rng.random() < 0.8)
    leader = rng.choice(isr) if isr and rng.random() < 0.95 else rng.choice([-1, *current])
    return Move("orders", 0, current, target, isr, leader, min_isr=rng.randint(1, 4))
