"""Child processes of a running server: proposals and reviews, and plans on Spark."""
