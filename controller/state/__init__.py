"""The core's memory, and the decision that changes it."""
