"""Dynamic configs: their keys, their values and their changes (KIP-226, KIP-339)."""
