"""Listeners, sessions, router, one handler file for each API key, the JSON API, and the driver."""
