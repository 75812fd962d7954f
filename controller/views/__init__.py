"""Read-only views of the state for people and clients."""
