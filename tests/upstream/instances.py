"""Instances of reassignd before one cluster; see `tools.instances`."""

from tools.instances import SESSION_MS, Instance, new_topic

__all__ = ["SESSION_MS", "Instance", "new_topic"]
