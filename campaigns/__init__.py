"""Long runs that look for faults: kill -9 at random instants, fuzz and churn, failures of ZooKeeper-mode clusters."""
