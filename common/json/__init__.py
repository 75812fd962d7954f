"""JSON from users: a strict parser, and typed models with error messages of one line."""
