"""What plans and proposals are computed from: the snapshot of a cluster, the table of steps, the forecast."""
