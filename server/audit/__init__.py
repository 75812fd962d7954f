"""The audit log: one entry for each accepted request that changes reassignments or limits."""
