"""The version of reassignd. `make dist` compares it with the chart and the changelog."""

__version__ = "0.6.0"
