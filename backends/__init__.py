"""Adapters of the core's ports: where records are kept, and the clusters that effects act upon."""
