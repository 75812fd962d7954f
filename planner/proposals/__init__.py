"""Proposed plans: which replicas to move so that a cluster meets a goal with the fewest moves."""
