"""The JSON API under `/v1`: one module per resource, and the models of what they read and write (`server.api.models`)."""
