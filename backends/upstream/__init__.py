"""A Kafka that others run, and that carries the moves out: our own connections to it."""
