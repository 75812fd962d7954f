"""KIP-435: from a target assignment to the steps that reach it."""
