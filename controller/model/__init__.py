"""The values and records that the controller decides about: cluster, jobs, steps. No behaviour beyond them."""
