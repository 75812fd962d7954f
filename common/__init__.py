"""What several layers need and no layer owns: clock, tasks, work off the event loop."""
