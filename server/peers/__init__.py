"""Several gateways before one cluster: requests for reassignd are answered by the instance that is active.

All instances relay. A request for reassignd that arrives at a standby is authenticated and authorized there, by the
upstream on the client's own connection, and then forwarded to the active instance with the name of the principal,
as Kafka's brokers forward by Envelope (KIP-590).

    ports          the lease, forwarded requests, and the errors of forwarding
    switch         answers here, forwards, or holds requests while no instance is active
    own_requests   the requests that are forwarded: 45, 46, and reassignd's keys in 32, 33 and 44
    links          connections of a standby to the active instance
    listener       accepts them
    endpoint       answers what was forwarded
    stream         one connection of two peers
    handshake      the proof that both know the shared secret
    sealing        frames with an HMAC
    messages       what the frames contain
"""
