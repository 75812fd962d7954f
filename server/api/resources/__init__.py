"""The resources of `/v1`: one module with the endpoints of each."""
