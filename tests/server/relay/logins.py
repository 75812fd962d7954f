"""Messages of logins."""

import json
from base64 import urlsafe_b64encode


def bearer(claims: object, more: bytes = b"") -> bytes:
    """Return the first message of OAUTHBEARER, with an unsigned token.

    `more` follows the JSON of the claims.
    """
    payload = urlsafe_b64encode(json.dumps(claims).encode() + more).rstrip(b"=")
    return b"n,,\x01auth=Bearer e30." + payload + b".\x01\x01"
