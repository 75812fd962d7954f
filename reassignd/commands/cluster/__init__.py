"""Commands for the whole server and its brokers: status, limits, placement, audit log."""
