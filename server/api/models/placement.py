"""The models of `/v1/placement`."""

from typing import Annotated

from msgspec import Meta, Struct


class PlacementBroker(Struct):
    """A broker that replicas can be placed on."""

    id: int
    rack: str | None
    live: bool


class Placement(Struct):
    """The brokers, and those that new partitions are not placed on."""

    excluded: list[int]
    brokers: list[PlacementBroker]


class PlacementChange(Struct):
    """Changes of the excluded brokers."""

    exclude: Annotated[list[int], Meta(description="Brokers to exclude.")] = []
    allow: Annotated[list[int], Meta(description="Brokers that are not excluded any more.")] = []
