"""Commands that submit, show, follow, change and undo jobs and plans in the queue."""
