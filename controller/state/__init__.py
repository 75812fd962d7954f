"""The controller's memory, and the decision that changes it."""
