"""Moves between log directories: looks at the brokers, and asks them as the controller decides."""
