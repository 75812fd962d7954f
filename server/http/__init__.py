"""The HTTP listener: connections and their limits, TLS, and the checks against requests of other sites."""
