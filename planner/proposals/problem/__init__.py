"""The input of the solver: brokers, partitions and goal, as named tuples and as arrays."""
