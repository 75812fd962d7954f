"""Brokers, topics, ISRs and leaders of a cluster that reassignd controls."""
