"""The schedule: the periods in which steps may start, and their throttles (`reassignment.schedule`)."""
