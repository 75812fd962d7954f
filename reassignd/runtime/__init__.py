"""The composition root: the three runtimes, and the assembly that they share."""
