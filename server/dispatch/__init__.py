"""From a request to its handler: registry, router, authorizer, context, and what handlers share."""
