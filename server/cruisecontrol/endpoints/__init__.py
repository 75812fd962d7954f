"""One file for each endpoint of Cruise Control's API; each has its parameters and its answer."""
