"""HTTP: the listener, its connections, and who may use it."""
