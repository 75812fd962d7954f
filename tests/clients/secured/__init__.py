"""Secured embedded clusters, and the configurations that Kafka's clients use for them."""
