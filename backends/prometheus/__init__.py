"""Asks a Prometheus for what the Kafka protocol does not tell: bytes out, and the CPU of brokers.

`source` is the door. It is optional, and never the source of what the protocol tells exactly.
"""
