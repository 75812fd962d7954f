"""The resources of `/v1`, one module each: the models of its JSON, its handlers, and its endpoints.

msgspec reads, checks and writes JSON by the models, and makes the components of the OpenAPI document from
them. The order of the fields is their order in the JSON. A class's docstring and a field's `description` are
part of the document.
"""
