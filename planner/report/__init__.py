"""The forecast as one page of HTML."""
