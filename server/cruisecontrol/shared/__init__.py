"""What the endpoints share."""
