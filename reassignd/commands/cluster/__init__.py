"""Commands for the whole server and its brokers, from `status` and `limits` to the state topic."""
