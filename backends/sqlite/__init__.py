"""Records in SQLite."""
