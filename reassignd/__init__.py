"""The composition root: command line, configuration, logging and wiring. Knows every other package; none knows it."""

__version__ = "0.1.0"
