"""One file an API key. Each opens with the same card: key and versions, KIP, what must be allowed, errors."""

from importlib import import_module
from pkgutil import iter_modules


def load() -> None:
    """Import every handler, so that each registers itself."""
    for module in iter_modules(__path__, f"{__name__}."):
        import_module(module.name)
