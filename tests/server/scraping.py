"""Scrapes of a small cluster, as values by name and labels."""

from collections.abc import Mapping
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from controller.model.cluster import Broker, Partition, Reassignment, Topic
from controller.modes import EMBEDDED
from controller.state.state import State
from server.counters import Counters
from server.metrics.exposition import Metrics
from server.metrics.sources import Sources, Traffic, Znodes

Labels = frozenset[tuple[str, str]]


def cluster() -> State:
    """Return a state of three partitions: healthy, without leader and ISR, and with an adding replica."""
    state = State(mode=EMBEDDED)
    state.apply(
        [
            *(Broker(id_, "127.0.0.1", 9092 + id_, None, 1) for id_ in range(3)),
            Topic("t", bytes(16)),
            Partition("t", 0, replicas=(0, 1), isr=(0, 1), leader=0),
            Partition("t", 1, replicas=(0, 1), isr=(), leader=-1),
            Partition("t", 2, replicas=(2, 0, 1), isr=(0, 1), leader=0, adding=(2,), removing=(1,)),
            Reassignment("t", 2, original=(0, 1), target=(2, 0)),
        ]
    )
    state.cluster.live.update({0, 1})
    return state


def scrape(
    state: State | None = None,
    stats: Counters | None = None,
    *,
    active: bool = True,
    traffic: Mapping[int, Traffic] | None = None,
    queue_length: int = 0,
    znodes: Znodes | None = None,
    **more: Any,
) -> dict[tuple[str, Labels], float]:
    """Return all samples by name and labels. `more` are further fields of `Sources`."""
    sources = Sources(
        "1.2.3",
        state or State(mode=EMBEDDED),
        stats or Counters(),
        lambda: queue_length,
        lambda: traffic or {},
        lambda: active,
        znodes=znodes or Znodes(),
        **more,
    )
    page = Metrics(sources).page().decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


def value(samples: dict[tuple[str, Labels], float], name: str, **labels: str) -> float:
    return samples[name, frozenset(labels.items())]
