"""Moves the records of a gateway between a data directory, a state topic and a file of JSON lines."""
