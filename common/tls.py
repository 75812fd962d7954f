"""TLS contexts: every `ssl.SSLContext` of reassignd is made here.

PEM material of clients is given as text, since Kafka's client properties may hold it inline (KIP-651).
"""

import asyncio
import re
import ssl
import tempfile
import textwrap
from pathlib import Path

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_END = "-----END CERTIFICATE-----\n"


def server_context(
    certificate: Path,
    key: Path | None,
    client_ca: Path | None = None,
    lowest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2,
) -> ssl.SSLContext:
    """Return the context of a listener: its certificate chain, and its key unless the chain's file has it.

    With `client_ca` clients may present a certificate that one of these authorities has signed.
    Raises OSError (also `ssl.SSLError`) for files that cannot be used.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = lowest
    _load_files(context, certificate, key)
    if client_ca is not None:
        context.load_verify_locations(client_ca)
        context.verify_mode = ssl.CERT_OPTIONAL
        # Sessions resumed by tickets would outlive the authority of the certificate. Those of TLS 1.2 without
        # tickets, which Python cannot turn off, end after five minutes.
        context.num_tickets = 0
        context.options |= ssl.OP_NO_TICKET
    return context


def client_context(authorities: str | None, *, check_hostname: bool = True) -> ssl.SSLContext:
    """Return a context that trusts the authorities in the PEM text and no others; None: those of the system.

    Raises ValueError for a text without a certificate, and `ssl.SSLError` for one that OpenSSL cannot read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = check_hostname
    if authorities is None:
        context.load_default_certs()
        return context
    certificates = pem_blocks(authorities, "CERTIFICATE")
    if not certificates:
        raise ValueError("there is no PEM certificate in it")
    context.load_verify_locations(cadata=certificates)
    return context


def peer_certificate(transport: asyncio.BaseTransport) -> bytes | None:
    """Return the verified certificate of the client in DER; None without one, or without TLS."""
    tls: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
    return None if tls is None else tls.getpeercert(True)


def load_identity(context: ssl.SSLContext, pem: str, password: str) -> None:
    """Load the certificate chain and the private key of the PEM text; `password` decrypts the key.

    Raises ValueError for a text that lacks either, and `ssl.SSLError` for one that OpenSSL cannot use.
    """
    chain, key = pem_blocks(pem, "CERTIFICATE"), pem_blocks(pem, "PRIVATE KEY")
    if not chain or not key:
        raise ValueError(f"there is no PEM {'private key' if chain else 'certificate'} in it")
    # OpenSSL reads them from files only. This file is readable for the user of the process only, and removed
    # at once.
    with tempfile.NamedTemporaryFile("w", encoding="ascii", prefix="reassignd-") as file:
        file.write(key + chain)
        file.flush()
        # A function, since OpenSSL would prompt for a missing password at the terminal.
        context.load_cert_chain(Path(file.name), password=lambda: password)


def client_context_from_files(
    ca_file: Path | None = None, certificate_file: Path | None = None
) -> ssl.SSLContext:
    """Return a context with Python's defaults for clients; `certificate_file` holds a chain and its key.

    Raises OSError (also `ssl.SSLError`) for files that cannot be used.
    """
    context = ssl.create_default_context(cafile=ca_file)
    if certificate_file is not None:
        _load_files(context, certificate_file)
    return context


def _load_files(context: ssl.SSLContext, certificate: Path, key: Path | None = None) -> None:
    def refuse() -> str:
        raise OSError(f"the key in {key or certificate} is encrypted")

    # Without the function OpenSSL would prompt for the password at the terminal, which blocks the event loop.
    context.load_cert_chain(certificate, key, password=refuse)


def pinned_client_context(certificate: Path) -> ssl.SSLContext:
    """Return a context that trusts the first certificate in the file and no other, under any host name.

    Raises OSError (also `ssl.SSLError`) for a file that cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    pin(context, certificate)
    return context


def pin(context: ssl.SSLContext, certificate: Path) -> None:
    """Let the context trust the first certificate in the file, besides others.

    Raises as `pinned_client_context`.

    Authorities may follow it in the file. Trusted too, each of their certificates would be accepted.
    """
    first, end, _ = pem_blocks(certificate.read_text("ascii", "replace"), "CERTIFICATE").partition(_END)
    if not end:
        raise ssl.SSLError("there is no PEM certificate in it")
    context.load_verify_locations(cadata=first + end)


def pem_blocks(text: str, kind: str) -> str:
    """Return the PEM blocks whose label ends with `kind` (CERTIFICATE, PRIVATE KEY), without other text.

    Properties files may give a block on one line; its line breaks are restored.
    """
    blocks = []
    for label, body in _BLOCK.findall(text):
        if label.endswith(kind):
            # Lines of an encrypted key's header ("Proc-Type: 4,ENCRYPTED") stay as they are.
            lines = body if ":" in body else "\n".join(textwrap.wrap("".join(body.split()), 64))
            blocks.append(f"-----BEGIN {label}-----\n{lines.strip()}\n-----END {label}-----\n")
    return "".join(blocks)


def handshake_failure(error: OSError) -> str | None:
    """Return why a handshake has failed; None if the client has only left, as probes of ports do."""
    if isinstance(error, ssl.SSLError):
        return f"the TLS handshake failed: {error}"
    if isinstance(error, TimeoutError | ConnectionAbortedError):
        return "the TLS handshake was not complete in time"
    return None
