"""The composition root: command line, configuration, logging and wiring.

It imports every other package; none of them imports it.
"""

from reassignd.config.version import __version__

__all__ = ["__version__"]
