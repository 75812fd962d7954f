"""What goes into the controller and what comes out of it: events and effects."""
