"""The listener of reassignd in ZooKeeper mode, where it is the controller. To clients it is a broker.

Each client's connection has a connection to a broker (`server.relay`). The broker authenticates the client,
and requests that do not concern a controller pass with the client's own rights. Before reassignd answers a
request itself, it asks the broker on that connection what the principal may do.

    endpoint       requests that reassignd answers, as active controller and otherwise
    authorization  the queries for a principal's rights
    configs        requests for configs (32, 33, 44) that name reassignd's node id or keys
    interceptors   the interceptors by API key; ApiVersions (18); answers for reassignd's node id (16, 35, 66)
"""
