"""The JSON that the API reads and writes, declared once. There is one module for each resource.

msgspec reads, checks and writes JSON by these structs, and makes the components of the OpenAPI document from them. The
order of the fields is their order in the JSON. A class's docstring and a field's `description` are part of the document.
"""
