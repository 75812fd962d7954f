"""Certificates and keys of a TLS client in PEM, from files or from the configuration itself (KIP-651)."""

import re
import ssl
import tempfile
import textwrap
from pathlib import Path

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)


def blocks(text: str, kind: str) -> str:
    """The PEM blocks in the text whose name ends so (CERTIFICATE, PRIVATE KEY), with line breaks where a properties file has none."""
    found = []
    for name, body in _BLOCK.findall(text):
        if name.endswith(kind):
            lines = body if ":" in body else "\n".join(textwrap.wrap("".join(body.split()), 64))
            found.append(f"-----BEGIN {name}-----\n{lines.strip()}\n-----END {name}-----\n")
    return "".join(found)


def trust(context: ssl.SSLContext, text: str) -> None:
    """Have the certificates in the text, and no others, vouch for the other side. Raises ValueError, or an OSError (ssl.SSLError)."""
    certificates = blocks(text, "CERTIFICATE")
    if not certificates:
        raise ValueError("there is no PEM certificate in it")
    context.load_verify_locations(cadata=certificates)


def show(context: ssl.SSLContext, text: str, password: str) -> None:
    """Show the certificate chain in the text to the other side, by the key in it, which the password opens. Raises as `trust` does."""
    chain, key = blocks(text, "CERTIFICATE"), blocks(text, "PRIVATE KEY")
    if not chain or not key:
        raise ValueError(f"there is no PEM {'private key' if chain else 'certificate'} in it")
    # OpenSSL reads them from files only; this one is for our eyes, and gone at once.
    with tempfile.NamedTemporaryFile("w", encoding="ascii", prefix="reassignd-") as file:
        file.write(key + chain)
        file.flush()
        # A function, since OpenSSL would ask at the terminal where there is none.
        context.load_cert_chain(Path(file.name), password=lambda: password)
