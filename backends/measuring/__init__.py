"""What is measured at brokers: sizes of replicas, steps without progress, produce latency and flows of producers."""
