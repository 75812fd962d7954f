"""Kafka's wire format: bytes to messages and back, and the order of frames on a connection. No I/O, no clock.

From the bottom up: `schema` describes messages, `generate` writes them as classes into `messages/`, `reading` and
`writing` know the primitive types, `decoder` and `encoder` compile functions of them, `wire` hands those out, `apis`
knows which classes belong to an API key, `frames` adds sizes and headers, `connection` the order of answers.
"""
