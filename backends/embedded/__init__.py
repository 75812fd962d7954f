"""The embedded cluster: brokers in this process that serve Kafka's controller requests, and a clock."""
