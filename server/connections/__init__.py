"""Listeners and client connections of the Kafka protocol."""
