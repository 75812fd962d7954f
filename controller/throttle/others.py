"""Rates of KIP-73 at brokers that reassignd has not set: why a plan may be slow without a throttle of its own."""

from collections.abc import Mapping

from controller.configs.names import RATES
from controller.configs.values import CLUSTER_DEFAULT
from controller.messages.upstream_events import BrokerRatesSeen
from controller.model.configs import ResourceType
from controller.state.decision import Decision
from controller.state.state import State
from controller.throttle.lease import set_by_others


def broker_rates_seen(d: Decision, event: BrokerRatesSeen) -> None:
    """Remember the rates of others, in place of those that were seen before."""
    found = ((broker, _lowest(d.state, broker, values)) for broker, values in event.rates.items())
    d.state.others_rates = {broker: rate for broker, rate in found if rate is not None}


def rates_of_others(state: State) -> dict[int, int]:
    """Return by broker the lowest rate of others in bytes per second."""
    found = ((broker, rate_of_others(state, broker)) for broker in state.brokers)
    return {broker: rate for broker, rate in found if rate is not None}


def rate_of_others(state: State, broker: int) -> int | None:
    """Return the lowest rate of others at the broker; None for none. With an upstream, the one that was seen last."""
    if state.profile.has_upstream:
        return state.others_rates.get(broker)
    values = {rate: _configured(state, str(broker), rate) for rate in RATES}
    return _lowest(state, broker, {rate: value for rate, value in values.items() if value is not None})


def _configured(state: State, broker: str, rate: str) -> str | None:
    own = state.config(ResourceType.BROKER, broker, rate)
    return state.config(ResourceType.BROKER, CLUSTER_DEFAULT, rate) if own is None else own


def _lowest(state: State, broker: int, values: Mapping[str, str]) -> int | None:
    """Return the lowest of these rates that no lease owns."""
    rates = (
        int(value)
        for config, value in values.items()
        if value.isdecimal()
        and set_by_others(value, state.leases.get((ResourceType.BROKER, str(broker), config)))
    )
    return min(rates, default=None)
