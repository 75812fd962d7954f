"""Spark for a running server, in a process of its own."""
