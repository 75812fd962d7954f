"""Measures the progress of reassignments: copied bytes, rates, time left, stalled steps and counts."""
