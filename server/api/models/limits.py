"""The models of `/v1/limits`."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from server.api.models.shared import Obstacles, RateOrigin, ThrottledBrokers


class Limit(Struct):
    """A limit of KIP-435, or the throttle."""

    name: str
    config: str
    limit: Annotated[int | None, Meta(description="Null when there is no limit.")]
    used: Annotated[
        int | None, Meta(description="What steps in flight use of it; null for limits that nothing uses up.")
    ]
    origin: Annotated[
        Literal["settings", "dynamic"] | None,
        Meta(
            description="`settings`: the initial value of the server's settings; `dynamic`: set while it ran, which"
            " replaces the initial value; null without a value."
        ),
    ] = None


class BrokerLoad(Struct):
    """Replicas that are copied to and from a broker, as limit B counts them."""

    id: int
    incoming: int
    outgoing: int


class Limits(Struct):
    """The limits, and the brokers that steps in flight use."""

    limits: list[Limit]
    brokers: list[BrokerLoad]
    bandwidth: Annotated[
        int | None,
        Meta(description="Bytes per second to, and from, each broker that forecasts expect now."),
    ] = None
    rate_origin: Annotated[RateOrigin | None, Meta(description="Where `bandwidth` is known from.")] = None
    pace: Annotated[str | None, Meta(description="The target of pace in words; null while it is off.")] = None
    set_by_others: Annotated[
        list[ThrottledBrokers],
        Meta(
            description="Rates that others have set at brokers. With a throttle or pace, they apply there instead."
        ),
    ] = []
    obstacles: Obstacles = []


class LimitEffect(Struct):
    """A limit before and after the change."""

    name: str
    config: str
    before: int | None
    after: int | None
    excess: Annotated[
        int | None,
        Meta(
            description="What steps in flight use above the new limit; they continue. For R the steps that add more"
            " replicas. Null for the throttle."
        ),
    ]


class BrokerEffect(Struct):
    """Replicas that move to and from a broker."""

    id: int
    incoming: Annotated[int, Meta(description="In flight.")]
    outgoing: int
    starting_in: Annotated[int, Meta(description="Of waiting steps that would start.")]
    starting_out: int
    excess_in: Annotated[int, Meta(description="In flight, above the new limit B.")]
    excess_out: int


class LimitPreview(Struct):
    """What a change of limits would do now. Nothing was changed."""

    starts: Annotated[int, Meta(description="Waiting steps that would start now.")]
    more: Annotated[bool, Meta(description="More steps would start: only so many were examined.")]
    stopped: Annotated[
        str | None, Meta(description="Why no step starts at all, such as a pause; null while steps start.")
    ]
    throttle: Annotated[int | None, Meta(description="The throttle in force after the change.")]
    limits: list[LimitEffect]
    brokers: list[BrokerEffect]


LimitChanges: TypeAlias = Annotated[
    dict[str, int | float | str | None],
    Meta(
        title="LimitChanges",
        min_length=1,
        description="New values by name: R, P, L, C, B, throttle, pace, pace.ms, pace.factor, or a config. Null removes the limit.",
    ),
]
