"""The JSON API under `/v1`: one file a resource, and one table of routes (`server.api.table`)."""
