"""The data directory: its identity, its records, its audit log, and how long they are kept."""
