"""Records in a compacted topic of the cluster: several instances, one active, fenced by the producer epoch."""
