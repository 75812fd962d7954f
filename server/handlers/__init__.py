"""One module per API key. Each docstring lists the key and versions, the KIPs, the ACLs and the errors."""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from server.dispatch.registry import ROUTES, AnyRoute


def load() -> Mapping[int, AnyRoute]:
    """Import every handler module, which registers its handler; return the route of each API key."""
    for module in iter_modules(__path__, f"{__name__}."):
        import_module(module.name)
    return ROUTES
