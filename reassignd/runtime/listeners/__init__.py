"""Listening sockets, their limits, and the security of the Kafka listeners and of HTTP."""
