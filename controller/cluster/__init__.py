"""Brokers, topics, ISRs and leaders of a cluster, and what an upstream's health means for its moves."""
