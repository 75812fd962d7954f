"""What the endpoints use beside the controller: progress and counts of jobs, computed proposals, Spark."""
