"""Records as znodes: loading, caching and writing in multis."""
