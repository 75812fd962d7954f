"""The page at `/`, for a browser: what moves, what does not, and why. It reads `/v1` and changes nothing."""
