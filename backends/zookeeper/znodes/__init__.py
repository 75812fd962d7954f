"""Formats and paths of Kafka's znodes."""
