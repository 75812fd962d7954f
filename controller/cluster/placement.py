"""Placement of new partitions: replicas are spread over brokers and racks, round robin (KIP-36)."""

from collections.abc import Iterator, Mapping
from itertools import chain, zip_longest

from common.lists import grouped
from controller.model.cluster import Replicas


def interleave_racks(racks: Mapping[int, str | None]) -> list[int]:
    """Return the broker ids so that neighbours are in different racks where possible."""
    by_rack = grouped((racks[broker], broker) for broker in sorted(racks))
    ordered = [by_rack[rack] for rack in sorted(by_rack, key=str)]
    return [broker for broker in chain.from_iterable(zip_longest(*ordered)) if broker is not None]


def place(racks: Mapping[int, str | None], factor: int, first: int) -> Iterator[Replicas]:
    """Yield replica lists of `factor` brokers without end; `first` is the number of the first partition.

    Brokers lead in rotation. The followers shift with each round, so that no two brokers always share
    partitions. `factor` is at most the number of brokers.
    """
    brokers = interleave_racks(racks)
    size = len(brokers)
    rack_count = len(set(racks.values()))
    number = first
    while True:
        round_, lead = divmod(number, size)
        replicas = [brokers[lead]]
        used = {racks[brokers[lead]]}
        for distance in range(size - 1):
            candidate = brokers[(lead + 1 + (round_ + distance) % (size - 1)) % size]
            if len(replicas) == factor:
                break
            if racks[candidate] not in used or len(used) == rack_count:
                replicas.append(candidate)
                used.add(racks[candidate])
        for distance in range(1, size):
            if len(replicas) == factor:
                break
            candidate = brokers[(lead + distance) % size]
            if candidate not in replicas:
                replicas.append(candidate)
        yield tuple(replicas)
        number += 1
