"""The settings of the HTTP listener."""

from typing import Any

from reassignd.config.setting_types import ADDRESS_OR_SOCKET, FILE, HOST_NAMES, Key, integer


class HttpKeys:
    """Base class of `Settings`: the HTTP listener and its access control."""

    values: dict[str, Any]

    http_listener = Key(
        ADDRESS_OR_SOCKET,
        "127.0.0.1:9080",
        "Address of the HTTP listener, which serves the page, `/v1`, `/healthz`, `/readyz` and `/metrics`.",
    )
    http_max_connections = Key(
        integer(1, 1_000_000),
        "1000",
        "Maximum number of HTTP connections. Beyond it, the connection that has been silent longest is closed.",
    )
    http_allowed_hosts = Key(
        HOST_NAMES,
        "",
        "Host names that HTTP requests may use, besides localhost and loopback addresses; for example that of a proxy. A "
        "listener that is not on loopback also accepts any IP address. Not checked with TLS.",
    )
    http_token_file = Key(
        FILE,
        "",
        "File with one bearer token that `/v1` requires, of an operator. It is read again when it changes. A listener that is not on loopback needs this, `http.access.file` or a client CA. On "
        "loopback without it, `/v1` is open to the user that runs reassignd and to root; with the embedded cluster, to all users.",
    )
    http_access_file = Key(
        FILE,
        "",
        "File with names and roles (`viewer`: may read; `operator`: may also change), one per line: `NAME ROLE token TOKEN` or "
        "`NAME ROLE certificate SUBJECT`. It is read again when it changes. With it, only listed certificates are accepted.",
    )
    http_tls_certificate_file = Key(
        FILE, "", "Certificate chain (PEM) of the HTTP listener. If set, it accepts TLS connections only."
    )
    http_tls_key_file = Key(FILE, "", "Private key (PEM), if it is not in the certificate file.")
    http_tls_client_ca_file = Key(
        FILE,
        "",
        "Certificate authorities (PEM). If set, `/v1` requires a client certificate that one of them has signed.",
    )
