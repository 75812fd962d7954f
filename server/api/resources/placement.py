"""`/v1/placement`: the brokers that new partitions are not placed on, such as drained ones."""

from collections.abc import Collection
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from controller.model.configs import EXCLUDED_BROKERS, ConfigChange, ConfigOp
from server.api.shared.call import Call, Endpoint
from server.api.shared.cluster_configs import alter_cluster_configs
from server.api.shared.cordons import follow_cordons
from server.api.shared.errors import HttpError


class PlacementBroker(Struct):
    """A broker that replicas can be placed on."""

    id: int
    rack: str | None
    live: bool


class Placement(Struct):
    """The brokers, and those that new partitions are not placed on."""

    excluded: list[int]
    brokers: list[PlacementBroker]
    notes: Annotated[
        list[str],
        Meta(
            description="After a change before a running Kafka: a line for each broker that Kafka does not "
            "cordon, or still cordons (KIP-1066)."
        ),
    ] = []


class PlacementChange(Struct):
    """Changes of the excluded brokers."""

    exclude: Annotated[list[int], Meta(description="Brokers to exclude.")] = []
    allow: Annotated[list[int], Meta(description="Brokers that are not excluded any more.")] = []


async def placement(call: Call) -> Placement:
    """Return the brokers, and the excluded ones of them."""
    state = call.state
    brokers = [
        PlacementBroker(number, broker.rack, number in state.cluster.live)
        for number, broker in sorted(state.cluster.brokers.items())
    ]
    return Placement(sorted(state.settings.excluded_brokers), brokers)


async def change(call: Call) -> Placement:
    """Exclude brokers, or end their exclusion.

    It is durable, and applies to partitions that are created later.
    """
    body, state = await call.body(PlacementChange), call.state
    for broker in body.exclude:
        if broker not in state.cluster.brokers:
            raise HttpError(404, f"There is no broker {broker}.")
    if both := sorted({*body.exclude} & {*body.allow}):
        raise HttpError(400, f"broker {both[0]} is in both lists")
    await alter_excluded(call, body.exclude, body.allow)
    notes = await follow_cordons(call, body.exclude, body.allow)
    return replace(await placement(call), notes=notes)


async def alter_excluded(call: Call, exclude: Collection[int], allow: Collection[int]) -> None:
    """Change the excluded brokers, as single items: concurrent changes are not lost."""
    for op, brokers in ((ConfigOp.APPEND, exclude), (ConfigOp.SUBTRACT, allow)):
        if brokers:
            value = ",".join(map(str, sorted(brokers)))
            await alter_cluster_configs(call, [ConfigChange(EXCLUDED_BROKERS, op, value)])


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/placement",
        "Get the brokers, and those that new partitions are not placed on.",
        placement,
        Placement,
    ),
    Endpoint(
        "POST",
        "/v1/placement",
        "Exclude brokers from the placement of new partitions, or end their exclusion.",
        change,
        Placement,
        PlacementChange,
    ),
)
