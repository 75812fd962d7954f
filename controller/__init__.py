"""The controller: events in, records and effects out. No I/O, no clock, no randomness."""
