"""What is measured at brokers.

Sizes of replicas, steps without progress, produce latency and flows of producers.
"""
