"""Settings for the security of the embedded cluster's listeners. Their names are those of Kafka, where it has them."""

from typing import Any

from reassignd.config.setting_types import (
    FILE,
    SECURITY_PROTOCOL,
    SWITCH,
    TEXT,
    Key,
    choice,
    integer,
    optional,
    words,
)

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")

STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
OLD_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"

NO_CLIENT_AUTH, REQUESTED, REQUIRED = "none", "requested", "required"


class ListenerKeys:
    """Base class of `Settings`: security of the embedded cluster's listeners."""

    values: dict[str, Any]

    listener_security_protocol = Key(
        SECURITY_PROTOCOL,
        "",
        "Embedded cluster: security protocol of the Kafka listeners. If empty: `SSL` with a certificate, else `PLAINTEXT`.",
    )
    listener_tls_client_ca_file = Key(
        FILE,
        "",
        "Embedded cluster: certificate authorities (PEM) for the certificates of clients, see `ssl.client.auth`.",
    )
    ssl_client_auth = Key(
        choice(NO_CLIENT_AUTH, REQUESTED, REQUIRED),
        NO_CLIENT_AUTH,
        "Embedded cluster: whether clients need a certificate. With `requested`, those without one are anonymous.",
    )
    ssl_principal_mapping_rules = Key(
        TEXT,
        "DEFAULT",
        "Embedded cluster: rules that make the name of a principal of the subject of a certificate, as in Kafka. Patterns "
        "have the syntax of Python.",
    )
    sasl_enabled_mechanisms = Key(
        words(*MECHANISMS),
        "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "Embedded cluster: SASL mechanisms of the Kafka listeners.",
    )
    sasl_users_file = Key(
        FILE,
        "",
        "Embedded cluster: file with users for PLAIN and SCRAM, one `NAME PASSWORD` per line. It is read again when it changes. "
        "`kafka-configs` adds further users for SCRAM.",
    )
    plain_sasl_jaas_config = Key(
        TEXT,
        "",
        'Embedded cluster: users for PLAIN as on Kafka\'s brokers: `PlainLoginModule required user_NAME="PASSWORD" ...;`.',
        secret=True,
    )
    oauthbearer_sasl_jaas_config = Key(
        TEXT,
        "",
        "Embedded cluster: `OAuthBearerLoginModule required ...;` with Kafka's options `unsecuredValidator...` for unsecured tokens.",
        secret=True,
    )
    sasl_oauthbearer_jwks_endpoint_url = Key(
        TEXT,
        "",
        "Embedded cluster: keys of signed tokens (JWKS), `https://...`, `http://...` or `file:///...`. If empty, OAUTHBEARER "
        "accepts unsecured tokens, and everyone can make these.",
    )
    sasl_oauthbearer_jwks_endpoint_refresh_ms = Key(
        integer(1000, 2**53), "3600000", "Embedded cluster: interval in which the keys are read again."
    )
    sasl_oauthbearer_expected_audience = Key(
        TEXT, "", "Embedded cluster: audiences (`aud`) with commas, one of which a signed token must have."
    )
    sasl_oauthbearer_expected_issuer = Key(
        TEXT, "", "Embedded cluster: issuer (`iss`) that a signed token must have."
    )
    sasl_oauthbearer_sub_claim_name = Key(
        TEXT, "sub", "Embedded cluster: claim of a signed token with the name of the principal."
    )
    sasl_oauthbearer_clock_skew_seconds = Key(
        integer(0, 86_400), "30", "Embedded cluster: tolerance for the times of a signed token."
    )
    sasl_server_max_receive_size = Key(
        integer(1024, 2**31 - 1), "524288", "Embedded cluster: maximum size of a request before a login."
    )
    connections_max_reauth_ms = Key(
        integer(0, 2**53),
        "0",
        "Embedded cluster: time after which clients must log in again on the same connection; 0 for no limit.",
    )
    authorizer_class_name = Key(
        optional(choice(STANDARD_AUTHORIZER, OLD_AUTHORIZER)),
        "",
        "Embedded cluster: an authorizer with ACLs, under the name of one of Kafka's. If empty, everyone may do everything.",
    )
    super_users = Key(
        TEXT,
        "",
        "Embedded cluster: principals that may do everything, such as `User:admin;User:CN=ops,O=Example`.",
    )
    allow_everyone_if_no_acl_found = Key(
        SWITCH, "false", "Embedded cluster: whether everyone may use resources without any ACL."
    )


LISTENER_KEYS: dict[str, Key[Any]] = {
    each.name: each for each in vars(ListenerKeys).values() if isinstance(each, Key)
}
