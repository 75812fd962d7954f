"""Commands that make a plan or forecast it, and the clusters that they read."""
