"""Moves between the log directories of a broker, so that they are evenly full, or empty."""
