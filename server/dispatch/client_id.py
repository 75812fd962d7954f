"""The client id as jobs and the audit log record it."""

LONGEST_CLIENT_ID = 200
"""Characters that are recorded. A request may have 32,767, and every job and entry of the client would keep them."""


def recorded_client_id(client_id: str | None) -> str | None:
    """Return the client id, cut."""
    return None if client_id is None else client_id[:LONGEST_CLIENT_ID]
