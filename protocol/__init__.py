"""Kafka's wire format: bytes to messages and back, and the order of frames on a connection. No I/O, no clock.

From the bottom up: `schema` describes messages, and `generate` writes them as classes into `messages/`. In
`codec/`, `reading` and `writing` handle primitive types, `decoder` and `encoder` compile functions for
messages, and `wire` caches these. `apis` maps API keys to classes, `frames` adds sizes and headers, and
`connection` keeps the order of responses.
"""
