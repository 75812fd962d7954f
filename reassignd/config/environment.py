"""Settings from environment variables: REASSIGND_LOG_LEVEL is `log.level`.

Other variables with the prefix are left alone: the commands have some (REASSIGND_URL), and Kubernetes makes some for a
service named `reassignd` (REASSIGND_SERVICE_HOST).
"""

from collections.abc import Iterator, Mapping

from controller.scheduling.limits import ALIASES
from reassignd.config.config import KEYS, Assignment
from reassignd.config.initial_limits import INITIAL

PREFIX = "REASSIGND_"


def variable(key: str) -> str:
    """Return the variable of the key."""
    return PREFIX + key.upper().replace(".", "_")


VARIABLES = {variable(key): key for key in (*KEYS, *INITIAL, *ALIASES)}


def read_environment(environment: Mapping[str, str]) -> Iterator[Assignment]:
    """Yield the assignments of variables, in the order of their names."""
    for name in sorted(environment.keys() & VARIABLES.keys()):
        yield Assignment(VARIABLES[name], environment[name], f"environment variable {name}")
