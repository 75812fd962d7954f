"""A cluster in this process: brokers that speak Kafka's control requests, and data that moves by a clock."""
