"""The gateway's share of the controller: steps that an upstream Kafka carries out."""
