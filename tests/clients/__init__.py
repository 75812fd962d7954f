"""The real clients against a running server: Kafka's tools 3.9 and 4.3, its Java Admin client, and kafka-python.

The same scenarios run against a real Kafka 4.1 cluster with `REASSIGND_CLIENT_TESTS_AGAINST=kafka`: what they expect is what
Kafka does. With `=gateway` they run against reassignd before that cluster. Where reassignd differs on purpose, the scenario says so by naming both.
"""
