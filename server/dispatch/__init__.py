"""Dispatch of requests to handlers: registry, router, authorizer, context, and helpers for handlers."""
