"""The gateway: relays Kafka's requests to a running cluster and answers reassignd's own requests itself.

Each request of a client becomes exactly one request to a broker, on the connection that belongs to the
client's: the same bytes, or a smaller request. So the broker authenticates, authorizes and orders everything,
and reassignd's answer takes the place of the broker's. All ports serve the same APIs. Reassignd is not a
broker and has no broker id.

    gateway           the listeners: one that leads to any broker, and one for each broker
    port_assignments  durable assignment of ports to brokers
    interceptors      which requests and answers are changed, by API key
    versions          API versions that may pass; ApiVersions (18)
    addresses         brokers' addresses in DescribeCluster (60), FindCoordinator (10), Metadata (3)
    services          what answers reassignd's own requests
    probe             AlterPartitionReassignments (45), ListPartitionReassignments (46)
    configs           DescribeConfigs (32), AlterConfigs (33), IncrementalAlterConfigs (44)

`server.relay` passes the frames.
"""
