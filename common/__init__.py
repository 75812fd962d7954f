"""Code for all layers: addresses, clock, tasks, TLS contexts, durable files, work off the event loop."""
