"""Moves of replicas between the log directories of a broker (KIP-113): their orders, and their rules."""
