"""What the Kafka protocol does not tell of load: bytes out, and the CPU of brokers.

The doors are `prometheus` and `metrics_topic`. Both are optional, and never the source of what the protocol
tells exactly.
"""
