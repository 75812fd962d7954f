"""Proposals of a running server, computed in a child process."""
