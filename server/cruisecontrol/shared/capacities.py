"""Capacities of brokers, from a file in the form of Cruise Control's `capacity.json`.

An entry has `brokerId`, -1 for all others, and `capacity` with DISK in MB (a number, or one for each
directory), NW_IN and NW_OUT in KB/s, and CPU, a number or an object with `num.cores`.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from common.json.models import convert_model
from common.json.text import parse
from common.plan_errors import PlanError

MEGABYTE, KILOBYTE = 2**20, 2**10

EVERY_OTHER = -1


class Capacity(NamedTuple):
    """What a broker is able to hold and carry: bytes, and bytes per second; None is not known."""

    disk: int | None = None
    network_in: float | None = None
    network_out: float | None = None
    cores: float | None = None


UNKNOWN = Capacity()


class Capacities:
    """The capacities by broker."""

    def __init__(self, by_broker: Mapping[int, Capacity] | None = None) -> None:
        self._by_broker = by_broker or {}

    def of(self, broker: int) -> Capacity:
        """Return the capacity of the broker, or that of all others."""
        return self._by_broker.get(broker) or self._by_broker.get(EVERY_OTHER, UNKNOWN)

    @property
    def network(self) -> bool:
        """Whether the network of any broker is known."""
        return any(each.network_in is not None for each in self._by_broker.values())


CurrentCapacities = Callable[[], Capacities]
"""Returns the capacities at this moment. Called for each request: it must be fast."""


class _Entry(msgspec.Struct):
    broker: str | int = msgspec.field(name="brokerId")
    capacity: dict[str, object]


class _File(msgspec.Struct):
    entries: list[_Entry] = msgspec.field(name="brokerCapacities")


def read_capacities(data: bytes) -> Capacities:
    """Return the capacities of a file. Raises ValueError with the reason."""
    try:
        entries = convert_model(parse(data), _File, "the file").entries
    except PlanError as error:
        raise ValueError(str(error)) from error
    return Capacities({_number_of(entry): _capacity(entry) for entry in entries})


def _number_of(entry: _Entry) -> int:
    text = str(entry.broker)
    if not text.removeprefix("-").isdecimal():
        raise ValueError(f"brokerId {text[:40]!r} is no number")
    return int(text)


def _capacity(entry: _Entry) -> Capacity:
    values = entry.capacity
    disk = values.get("DISK")
    parts = list(disk.values()) if isinstance(disk, dict) else [disk]
    cpu = values.get("CPU")
    cores = cpu.get("num.cores") if isinstance(cpu, dict) else None
    return Capacity(
        None if disk is None else round(sum(_number(entry, "DISK", each) for each in parts) * MEGABYTE),
        None if "NW_IN" not in values else _number(entry, "NW_IN", values["NW_IN"]) * KILOBYTE,
        None if "NW_OUT" not in values else _number(entry, "NW_OUT", values["NW_OUT"]) * KILOBYTE,
        None if cores is None else _number(entry, "num.cores", cores),
    )


def _number(entry: _Entry, name: str, value: object) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = 0.0
    if not 0.0 < number < float("inf"):
        raise ValueError(f"{name} of broker {entry.broker} is {str(value)[:40]!r}, expected a number above 0")
    return number
