"""Dispatch of requests to handlers: the registry of handlers, the router, and what a handler gets.

registry    one card for each API key, made by its file in `server.handlers`
router      turns a request frame into the bytes of its response
context     the caller of a request, and the services for its handler
authorizer  resources, and the port of authorizers
cache       encoded responses that are kept
"""
