"""A relay of client connections to brokers: frames, flow control, SASL, address rewriting in Produce."""
