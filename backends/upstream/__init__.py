"""The backend of a gateway: connections to the upstream, which executes the steps."""
