"""A ZooKeeper-mode Kafka cluster whose controller is reassignd."""
