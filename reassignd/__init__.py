"""The composition root: command line, configuration, logging and wiring.

It imports every other package; none of them imports it.
"""

__version__ = "0.6.0"
