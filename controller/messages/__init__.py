"""Input and output of the controller: events and effects."""
