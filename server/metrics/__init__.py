"""Metrics: the table, the sources of the numbers, and their exposition."""
