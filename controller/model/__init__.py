"""The values and records that the core decides about: cluster, jobs, steps. No behaviour beyond them."""
