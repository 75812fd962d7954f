"""Reassignments (KIP-455), their jobs, queue and rollback (KIP-236), and their steps (KIP-435)."""
