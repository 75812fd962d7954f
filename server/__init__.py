"""The network face: listener, sessions, router, one handler file an API key, and the driver that owns the state."""
