"""Code that several layers use: addresses, clock, tasks, TLS contexts, durable files, work off the event loop."""
