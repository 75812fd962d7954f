"""Limits, the backlog and the step rule (KIP-435): which step may start next."""
