"""Test fixtures for other projects: a pytest plugin around `reassignd.embedded.EmbeddedCluster`."""
