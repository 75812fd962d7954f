"""Metrics in Prometheus' text format: the table of metrics, the sources of their values, and `/metrics`."""
