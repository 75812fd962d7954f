"""Brokers, topics, configs, ACLs, ISRs and leaders."""
