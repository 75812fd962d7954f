"""The JSON API under `/v1`.

The modules of this folder receive a request, check it and send the answer. The endpoints are in `resources/`.
"""
