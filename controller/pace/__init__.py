"""Pace: how much each broker moves at once, so that producers keep their latency (`reassignment.pace=auto`)."""
