"""What goes into the core and what comes out of it: events and effects."""
