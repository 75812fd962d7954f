"""Initial values of the limits and other `reassignment.` configs, from the settings of the server.

They apply as long as nobody has set the config: a dynamic change wins, and deleting it restores the initial value. Clients
see them as static broker configs, as those of Kafka's server.properties.
"""

from controller.cluster.config_keys import BROKER_KEYS, CLUSTER_WIDE
from controller.model.configs import OWN_PREFIX
from controller.scheduling.limits import ALIASES

INITIAL = {
    name: key for name, key in BROKER_KEYS.items() if name in CLUSTER_WIDE and name.startswith(OWN_PREFIX)
}
"""The configs that settings may have initial values for."""


def config_of(setting: str) -> str:
    """Return the config that a setting names, which may be a name of KIP-435; the setting itself if it is none."""
    return ALIASES.get(setting, setting)


def checked(config: str, value: str) -> str:
    """Return the value. Raises ValueError with the valid values."""
    expected = INITIAL[config].check(value)
    if expected is not None:
        raise ValueError(expected)
    return value
