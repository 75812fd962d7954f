"""`/v1/limits`: the limits of KIP-435 and the throttle, which are cluster-wide dynamic configs."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from common.json.text import abbreviated
from controller.cluster.config_keys import BROKER_KEYS, ConfigType
from controller.execution.throttle import rates_of_others
from controller.model.cluster import ResourceType
from controller.model.configs import (
    PACE,
    PACE_CONFIGS,
    PACE_FACTOR,
    PACE_MS,
    THROTTLE,
    ConfigChange,
    ConfigOp,
)
from controller.schedule.periods import no_zones
from controller.scheduling.limits import ALIASES, LIMITS, limits_of
from controller.state.settings import CLUSTER_DEFAULT
from controller.state.state import State
from controller.views.jobs import broker_loads, limit_views, obstacles
from controller.views.limit_preview import preview_limits
from server.api.shared.bodies import MAX_SMALL_BODY
from server.api.shared.call import Call, Endpoint
from server.api.shared.cluster_configs import alter_cluster_configs
from server.api.shared.errors import HttpError
from server.api.shared.forecasts import by_rate, forecast_rate
from server.api.shared.models import BandwidthOrigin, Obstacles, ThrottledBrokers

SHORT_NAMES = {limit.name: limit.config for limit in LIMITS} | {"throttle": THROTTLE}
"""Short name -> config."""

PACE_NAMES = {"pace": PACE, "pace.ms": PACE_MS, "pace.factor": PACE_FACTOR}


class Limit(Struct):
    """A limit of movements, or the throttle."""

    name: str
    config: str
    limit: Annotated[int | None, Meta(description="Null when there is no limit.")]
    used: Annotated[
        int | None, Meta(description="What steps in flight use of it; null for limits that nothing uses up.")
    ]
    origin: Annotated[
        Literal["settings", "dynamic"] | None,
        Meta(
            description="`settings`: the initial value of the server's settings; `dynamic`: set while it "
            "ran, which replaces the initial value; null without a value."
        ),
    ] = None
    meaning: Annotated[str, Meta(description="What it limits.")] = ""


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
    rate_origin: BandwidthOrigin = None
    pace: Annotated[str | None, Meta(description="The target of pace in words; null while it is off.")] = None
    set_by_others: Annotated[
        list[ThrottledBrokers],
        Meta(
            description="Rates that others have set at brokers. With a throttle or pace, they apply "
            "there instead."
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
            description="What steps in flight use above the new limit; they continue. For R the steps that "
            "add more replicas. Null for the throttle."
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
        description=f"New values by name: {', '.join((*SHORT_NAMES, *PACE_NAMES))}, or a config. "
        "Null removes the limit.",
    ),
]


NAMES = {
    **{name.lower(): config for name, config in SHORT_NAMES.items()},
    **PACE_NAMES,
    **ALIASES,
    **{config: config for config in (*SHORT_NAMES.values(), *PACE_CONFIGS)},
}
"""Name, short ones in lower case -> config."""


_TYPES: dict[ConfigType, tuple[tuple[type, ...], str]] = {
    ConfigType.STRING: ((str,), "a text"),
    ConfigType.DOUBLE: ((int, float), "a number"),
}
"""Types in JSON of the configs that are not whole numbers, and what to call them."""


async def limits(call: Call) -> Limits:
    """Return the limits in force, and how much of each is used."""
    state = call.state
    rate = state.settings.config(ResourceType.BROKER, CLUSTER_DEFAULT, THROTTLE)
    throttle = Limit(
        "throttle",
        THROTTLE,
        None if rate is None else int(rate),
        None,
        origin(state, THROTTLE),
        "bytes per second to, and from, each broker",
    )
    loads = [BrokerLoad(*load) for load in broker_loads(state)]
    reviews = call.services.reviews
    pace = None if state.pace.settings is None else state.pace.settings.text
    answer = Limits(
        [*limit_rows(state), throttle],
        loads,
        pace=pace,
        set_by_others=by_rate(rates_of_others(state)),
        obstacles=obstacles(state),
    )
    if reviews is not None:
        expected = forecast_rate(state, call.services.progress, reviews.bandwidth())
        answer.bandwidth, answer.rate_origin = expected
    return answer


async def change(call: Call) -> Limits:
    """Change all of the given limits, or none if one of them is invalid. They apply from the next step on."""
    await alter_cluster_configs(call, await call.read_body(_read, MAX_SMALL_BODY))
    return await limits(call)


async def alter_limits(call: Call, values: Mapping[str, object]) -> None:
    """Change limits by their names, all or none. Raises HttpError."""
    await alter_cluster_configs(call, _read(values))


async def preview(call: Call) -> LimitPreview:
    """Return what the change would do now. Nothing is changed."""
    changes = await call.read_body(_read, MAX_SMALL_BODY)
    state = call.state
    configs = {change.config: change.value for change in changes}
    before = state.settings.cluster_configs
    after = {name: value for name, value in {**before, **configs}.items() if value is not None}
    after = {**state.settings.static_configs, **after}
    effect = preview_limits(state, after)
    rates = [None if (rate := each.get(THROTTLE)) is None else int(rate) for each in (before, after)]
    now, new = state.backlog.usage.limits, limits_of(after)
    rows = [
        LimitEffect(each.name, each.config, each.shown(now), each.shown(new), effect.excess[each.name])
        for each in LIMITS
    ]
    return LimitPreview(
        effect.starts,
        effect.more,
        effect.stopped or None,
        effect.throttle,
        [*rows, LimitEffect("throttle", THROTTLE, rates[0], rates[1], None)],
        [BrokerEffect(*each) for each in effect.brokers],
    )


def limit_rows(state: State) -> list[Limit]:
    """Return the limits of movements."""
    return [
        Limit(each.name, each.config, each.limit, each.used, origin(state, each.config), each.meaning)
        for each in limit_views(state)
    ]


def origin(state: State, config: str) -> Literal["settings", "dynamic"] | None:
    """Return where the value of a cluster-wide config comes from; None if it has none."""
    if state.settings.dynamic_config(ResourceType.BROKER, CLUSTER_DEFAULT, config) is not None:
        return "dynamic"
    return "settings" if config in state.settings.static_configs else None


def _read(value: object) -> list[ConfigChange]:
    # Each config has a range of its own, so the values are checked by name and not by the declared type.
    if not isinstance(value, dict) or not value:
        raise HttpError(400, f"the body is {abbreviated(value)}, expected an object of limits")
    return [_change(name, limit) for name, limit in value.items()]


def _change(name: str, value: object) -> ConfigChange:
    config = NAMES.get(name, NAMES.get(name.lower()))
    if config is None:
        similar = get_close_matches(name[:100].lower(), NAMES, 1)
        shown = [each.upper() if len(each) == 1 else each for each in similar]
        known = f"known: {', '.join(SHORT_NAMES)}, pace and their configs"
        hint = f"did you mean {shown[0]}?" if shown else known
        raise HttpError(400, f"unknown limit {abbreviated(name)}; {hint}")
    if value is None:
        return ConfigChange(config, ConfigOp.DELETE, None)
    text = value if isinstance(value, str) and config in PACE_CONFIGS else abbreviated(value)
    expected = BROKER_KEYS[config].check(text, no_zones)
    types, kind = _TYPES.get(BROKER_KEYS[config].type, ((int,), "a whole number"))
    if type(value) not in types or expected is not None:
        raise HttpError(400, f"{name} is {text}: it must be {expected or kind}")
    return ConfigChange(config, ConfigOp.SET, text)


ENDPOINTS = (
    Endpoint("GET", "/v1/limits", "Get the limits and their current use.", limits, Limits, shared=True),
    Endpoint(
        "PUT",
        "/v1/limits",
        "Change limits. If one value is invalid, none is changed.",
        change,
        Limits,
        LimitChanges,
    ),
    Endpoint(
        "POST",
        "/v1/limits/preview",
        "Get what a change of limits would do now. Nothing is changed.",
        preview,
        LimitPreview,
        LimitChanges,
        changes_nothing=True,
    ),
)
