"""The settings of the HTTP listener; a part of `reassignd.config.config.Settings`."""

from typing import Any

from reassignd.config.setting_types import FILE, HOST_NAMES, PLACE, Key, integer


class HttpKeys:
    """Where HTTP is served, and to whom."""

    values: dict[str, Any]

    http_listener = Key(
        PLACE, "127.0.0.1:9080", "Where `/v1`, `/healthz`, `/readyz` and `/metrics` are served over HTTP."
    )
    http_max_connections = Key(
        integer(1, 1_000_000),
        "1000",
        "Connections over HTTP; for one more, that which was silent longest is closed.",
    )
    http_allowed_hosts = Key(
        HOST_NAMES,
        "",
        "Names under which HTTP may be asked, besides localhost and loopback addresses; for example that of a proxy. A listener "
        "that is not on loopback also takes any IP address. Not checked with TLS.",
    )
    http_token_file = Key(
        FILE,
        "",
        "A file with the bearer token that `/v1` asks for. Away from loopback this, or a client CA, must be set. On loopback "
        "without it, `/v1` is open to the user that runs reassignd and to root; with the embedded cluster, to all users.",
    )
    http_tls_certificate_file = Key(
        FILE, "", "The certificate chain (PEM) with which HTTP is served over TLS."
    )
    http_tls_key_file = Key(FILE, "", "Its private key (PEM), when that is not in the same file.")
    http_tls_client_ca_file = Key(
        FILE, "", "`/v1` asks for a client certificate that one of these authorities (PEM) has signed."
    )
