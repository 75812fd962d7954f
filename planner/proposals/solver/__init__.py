"""The solver: which broker gets which replica, which replica leads, and the order of each list."""
