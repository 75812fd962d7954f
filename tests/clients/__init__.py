"""Tests with real clients: Kafka's tools 3.9 and 4.3, the Java Admin client, kafka-python and others.

They run against the embedded cluster; with `REASSIGND_CLIENT_TESTS_AGAINST=kafka` against a real Kafka 4.1
cluster, and with `=gateway` against reassignd in front of that cluster. The expected results are those of
Kafka. If reassignd differs on purpose, the test has both results.
"""
