"""Requests of Cruise Control's API that wait for the approval of a second person."""
