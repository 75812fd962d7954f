"""The models of `/v1/limits`."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct


class Limit(Struct):
    """A limit of KIP-435, or the throttle."""

    name: str
    config: str
    limit: Annotated[int | None, Meta(description="Null when there is no limit.")]
    used: Annotated[
        int | None, Meta(description="What steps in flight use of it; null for limits that nothing uses up.")
    ]


class BrokerLoad(Struct):
    """Replicas that are copied to and from a broker, as limit B counts them."""

    id: int
    incoming: int
    outgoing: int


class Limits(Struct):
    """The limits, and the brokers that steps in flight use."""

    limits: list[Limit]
    brokers: list[BrokerLoad]


LimitChanges: TypeAlias = Annotated[
    dict[str, int | None],
    Meta(
        title="LimitChanges",
        min_length=1,
        description="New values by name: R, P, L, C, B, throttle, or a config. Null removes the limit.",
    ),
]
