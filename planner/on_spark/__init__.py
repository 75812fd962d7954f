"""Proposals for large clusters: Spark reads and validates the snapshot, without Python workers."""
