"""Several gateways before one cluster: requests for reassignd are answered by the instance that is active.

All instances relay. A request for reassignd that arrives at a standby is authenticated and authorized there,
by the upstream on the client's own connection, and then forwarded to the active instance with the name of the
principal, as Kafka's brokers forward by Envelope (KIP-590).

    switch         answers here, forwards, or holds requests while no instance is active
    messages       a forwarded request, its errors, and the messages between instances
    room           bounds of what is forwarded
    links          connections of a standby to the active instance
    listener       accepts them, and answers what was forwarded
    stream         one such connection, and its frames with an HMAC
    handshake      the proof that both know the shared secret
"""
