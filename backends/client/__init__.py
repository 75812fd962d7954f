"""Client for connections to Kafka brokers: TLS, SASL, API versions, pipelining, errors."""
