"""The values and records that the controller decides about: cluster, jobs, steps."""
