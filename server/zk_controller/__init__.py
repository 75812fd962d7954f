"""The listener of a controller that its cluster's clients take for a broker: security is the brokers'.

Each connection has one of its own to a broker, as before the gateway (`server.relay.session`): the broker authenticates,
and what is no concern of a controller passes with the client's own rights. Of what is, the broker is asked first what this
principal may; then it is answered here.

    deputy    what is answered here, in office and out of it
    rights    what a broker is asked, and what its answer allows
    configs   requests for configs (32, 33, 44) that name ours
    own       what tools ask of every broker, and a controller has nothing of (16, 35, 66)
    rules     which rule there is for which API key; ApiVersions (18)
"""
