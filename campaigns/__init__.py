"""Long tests: kill -9 at random instants, fuzz and churn, and failures in ZooKeeper-mode clusters."""
