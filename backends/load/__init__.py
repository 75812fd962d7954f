"""Measures what producers write and consumers read, by partition, from the Kafka protocol (docs/load.md).

`sampling` is the door, and the only module that is imported while `reassignment.load.sampling` is off.
"""
