"""Pace: how much each broker moves, so that producers keep their latency (`reassignment.pace=auto`)."""
