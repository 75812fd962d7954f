"""A simulated cluster in this process: brokers that serve Kafka's controller requests, and replication driven by a clock."""
