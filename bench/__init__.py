"""Benchmarks, and the real Kafka cluster that they and the client tests measure against."""
