"""One module per API key. Each docstring lists the key and versions, the KIPs, the ACLs and the errors."""

from importlib import import_module
from pkgutil import iter_modules


def load() -> None:
    """Import every handler module; the import registers the handler."""
    for module in iter_modules(__path__, f"{__name__}."):
        import_module(module.name)
