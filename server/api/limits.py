"""`/v1/limits`: the limits of KIP-435, which are cluster-wide dynamic configs."""

from typing import Any

from common.json_text import shown
from controller.configs.keys import BROKER_KEYS
from controller.configs.names import THROTTLE
from controller.configs.values import CLUSTER_DEFAULT
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from controller.model.errors import Outcome
from controller.scheduling.limits import ALIASES, CONFIGS
from controller.scheduling.plan_limits import LETTERS
from controller.views.jobs import broker_loads
from server.api.call import Call
from server.api.errors import HttpError, require
from server.api.shown import limit_rows
from server.api.table import Endpoint

SHORT = {LETTERS[field].lower(): config for config, field in CONFIGS.items()} | {"throttle": THROTTLE}
"""Short name, in lower case -> config."""

NAMES = {**SHORT, **ALIASES, **{config: config for config in (*CONFIGS, THROTTLE)}}


async def limits(call: Call) -> dict[str, Any]:
    """What is in force, and how much of it is used."""
    state = call.state
    rate = state.config(ResourceType.BROKER, CLUSTER_DEFAULT, THROTTLE)
    throttle = {
        "name": "throttle",
        "config": THROTTLE,
        "limit": None if rate is None else int(rate),
        "used": None,
    }
    loads = [{"id": each[0], "incoming": each[1], "outgoing": each[2]} for each in broker_loads(state)]
    return {"limits": [*limit_rows(state), throttle], "brokers": loads}


async def change(call: Call) -> dict[str, Any]:
    """All of the changes, or none; they act on the next step."""
    changes = await call.body(_read)
    [outcome] = await _alter(call, changes)
    require(outcome)
    return await limits(call)


async def _alter(call: Call, changes: list[ConfigChange]) -> list[Outcome]:
    event = AlterConfigs([ResourceChanges(ResourceType.BROKER, CLUSTER_DEFAULT, changes)])
    return await call.submit(event)


def _read(value: object) -> list[ConfigChange]:
    if not isinstance(value, dict) or not value:
        raise HttpError(400, f"the body is {shown(value)}, expected an object of limits")
    return [_change(name, given) for name, given in value.items()]


def _change(name: str, value: object) -> ConfigChange:
    config = NAMES.get(name, NAMES.get(name.lower()))
    if config is None:
        raise HttpError(400, f"unknown limit {shown(name)}; known: R, P, L, C, B, throttle and their configs")
    if value is None:
        return ConfigChange(config, ConfigOp.DELETE, None)
    text = str(value) if type(value) is int else shown(value)
    wrong = BROKER_KEYS[config].check(text)
    if type(value) is not int or wrong is not None:
        raise HttpError(400, f"{name} is {text}: it must be {wrong or 'a whole number'}")
    return ConfigChange(config, ConfigOp.SET, text)


ENDPOINTS = (
    Endpoint("GET", "/v1/limits", "Get the limits and their current use.", limits, "Limits"),
    Endpoint(
        "PUT",
        "/v1/limits",
        "Change limits. If one value is invalid, none is changed.",
        change,
        "Limits",
        "LimitChanges",
    ),
)
