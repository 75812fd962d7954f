"""Our own connections to brokers, as a client of theirs: TLS, SASL, versions, and what can go wrong."""
