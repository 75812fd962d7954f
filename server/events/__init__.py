"""The event stream: changes of jobs and partitions, for other programs."""
