"""Settings: keys, types, files, and what they configure."""
