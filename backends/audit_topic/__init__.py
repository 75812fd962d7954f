"""The audit log of several instances: entries are kept in a topic of the cluster, and mirrored by each instance."""
