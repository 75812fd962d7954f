"""The verbs of the command that need more than a few lines: one file each."""
