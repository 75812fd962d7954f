"""Even out several loads of brokers at once, for few bytes; `solve_loads` is the door."""
