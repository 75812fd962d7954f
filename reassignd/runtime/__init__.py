"""The composition root: one runtime for each backend, and what they share."""
