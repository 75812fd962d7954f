"""How one step of a partition is carried out: by us, or by an upstream Kafka (KIP-455)."""
