"""The gateway: before a running Kafka, it relays what is Kafka's, and answers what is reassignd's.

Every request of a client becomes exactly one request to the upstream, on that client's own connection and in its place:
the same bytes, or a question about less. So the upstream authenticates, authorises and orders everything; what is
ours is put where its answer comes. Every port serves the same; reassignd is not a broker, and has no id.

    session     both ends of one client's connection, and their back-pressure
    splitter    frames in a stream, held only as far as someone must look at them
    rules       which requests and answers are looked at; one module each for what that means:
                api_versions, addresses, questions (45, 46), configs and altered (32, 33, 44), produce, sasl
    gateway     one listener that leads to any broker, and one for each broker; places: its port, for good
    upstreams   where the brokers are, and connections to them
"""
