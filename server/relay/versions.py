"""API keys and versions that need special treatment in every relay."""

PRODUCE = 0
"""API key. It is not in `protocol.apis`, because only the start of a request is decoded."""

FRAMED_TOKENS = range(1, 2)
"""SaslHandshake versions. After version 0 the tokens are sent without request headers, which cannot be relayed."""
