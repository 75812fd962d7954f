"""Steps that an upstream Kafka carries out: requested, polled, reconciled."""
