"""Several instances before one cluster, with their records in a topic of it: one is active, the others relay."""
