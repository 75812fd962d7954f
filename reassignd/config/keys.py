"""The settings by subject: HTTP, several instances, security of listeners, ZooKeeper mode.

Keys have the names that Kafka's brokers use for the same settings, where there are any.
"""

from typing import Any

from reassignd.config.setting_types import (
    ADDRESS,
    ADDRESS_OR_SOCKET,
    FILE,
    HOST,
    HOST_NAMES,
    IDENTIFICATION_ALGORITHM,
    LISTENERS,
    ON_OFF,
    SECURITY_PROTOCOL,
    SWITCH,
    TEXT,
    Key,
    choice,
    integer,
    optional,
    words,
)
from server.cruisecontrol.shared.detection import DETECTED, JUDGED


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
        "Maximum number of HTTP connections. Beyond it, the connection that has been silent longest is"
        " closed.",
    )
    http_allowed_hosts = Key(
        HOST_NAMES,
        "",
        "Host names that HTTP requests may use, besides localhost and loopback addresses; for example that"
        " of a proxy. A listener that is not on loopback also accepts any IP address. Not checked with TLS.",
    )
    http_token_file = Key(
        FILE,
        "",
        "File with one bearer token that `/v1` requires, of an operator. It is read again when it changes. A"
        " listener that is not on loopback needs this, `http.access.file` or a client CA. On loopback"
        " without it, `/v1` is open to the user that runs reassignd and to root; with the embedded cluster,"
        " to all users.",
    )
    http_access_file = Key(
        FILE,
        "",
        "File with names and roles (`viewer`: may read; `operator`: may also change), one per line: `NAME"
        " ROLE token TOKEN` or `NAME ROLE certificate SUBJECT`. It is read again when it changes. With it,"
        " only listed certificates are accepted.",
    )
    http_tls_certificate_file = Key(
        FILE, "", "Certificate chain (PEM) of the HTTP listener. If set, it accepts TLS connections only."
    )
    http_tls_key_file = Key(FILE, "", "Private key (PEM), if it is not in the certificate file.")
    http_tls_min_version = Key(
        choice("TLSv1.2", "TLSv1.3"), "TLSv1.2", "Lowest version of TLS that the HTTP listener accepts."
    )
    http_tls_client_ca_file = Key(
        FILE,
        "",
        "Certificate authorities (PEM). If set, `/v1` requires a client certificate that one of them has"
        " signed.",
    )


class CruiseControlKeys:
    """Base class of `Settings`: Cruise Control's API."""

    values: dict[str, Any]

    cruisecontrol_api = Key(
        ON_OFF,
        "off",
        "Serve Cruise Control's REST API under `/kafkacruisecontrol` of `http.listener`.",
    )
    cruisecontrol_users_file = Key(
        FILE,
        "",
        "File with the users of that API, one `NAME: PASSWORD, ROLE` per line; roles are VIEWER, USER and"
        " ADMIN. It is read again when it changes. Without it, the clients of `/v1` may use the API.",
    )
    cruisecontrol_proposal_reuse_ms = Key(
        integer(0, 86_400_000),
        "3600000",
        "An execution runs the plan of the same client's dry run, if that is not older than this.",
    )
    cruisecontrol_two_step_verification = Key(
        ON_OFF,
        "off",
        "Requests that change something wait until somebody else approves them by `review`.",
    )
    cruisecontrol_anomaly_detection_goals = Key(
        words(*JUDGED),
        ",".join(DETECTED),
        "Goals whose violations the state reports as anomalies. Strimzi can start a rebalance by them.",
    )
    cruisecontrol_capacity_file = Key(
        FILE,
        "",
        "Capacities of brokers in the form of Cruise Control's `capacity.json`, for goals of capacity. It is"
        " read again when it changes.",
    )
    cruisecontrol_ui_directory = Key(
        FILE,
        "",
        "Folder with the files of Cruise Control's UI, which is served under `/cruisecontrol/`.",
    )


DIRECTORY, TOPIC = "directory", "topic"


class InstanceKeys:
    """Base class of `Settings`: several instances."""

    values: dict[str, Any]

    state = Key(
        choice(DIRECTORY, TOPIC),
        DIRECTORY,
        "Where a gateway keeps its records: in `data.dir`, which one process can use, or in a topic of the"
        " upstream cluster, which several instances can share. One of them is active; the others relay, and"
        " take over when it ends.",
    )
    state_topic = Key(
        TEXT,
        "__reassignd_state",
        "`state=topic`: name of the topic. Its name is the transactional id as well. It is created if it"
        " does not exist.",
    )
    state_topic_replication_factor = Key(
        integer(1, 32_767), "3", "`state=topic`: number of replicas of the topic when it is created."
    )
    gateway_session_timeout_ms = Key(
        integer(3000, 600_000),
        "6000",
        "`state=topic`: when the active instance has written nothing for this time, another one takes over."
        " It must be the same on all instances.",
    )
    gateway_peer_listener = Key(
        ADDRESS,
        "127.0.0.1:0",
        "`state=topic`: address on which this instance accepts requests that other instances forward. Port 0"
        " is any free one.",
    )
    gateway_peer_host = Key(
        HOST,
        "",
        "`state=topic`: host at which other instances reach this one, if it is not the host of"
        " `gateway.peer.listener`.",
    )
    gateway_peer_url = Key(
        TEXT,
        "",
        "`state=topic`: URL of this instance's HTTP for the other instances, if it is not the address of"
        " `http.listener`.",
    )
    gateway_peer_secret_file = Key(
        FILE,
        "",
        "`state=topic`: file with a secret that all instances share. Requests are forwarded only between"
        " instances that know it.",
    )
    gateway_peer_tls_certificate_file = Key(
        FILE,
        "",
        "`state=topic`: certificate chain (PEM) that all instances share. If set, they connect to each other"
        " by TLS.",
    )
    gateway_peer_tls_key_file = Key(FILE, "", "Private key (PEM), if it is not in the certificate file.")


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
        "Embedded cluster: security protocol of the Kafka listeners. If empty: `SSL` with a certificate,"
        " else `PLAINTEXT`.",
    )
    listener_tls_client_ca_file = Key(
        FILE,
        "",
        "Embedded cluster: certificate authorities (PEM) for the certificates of clients, see"
        " `ssl.client.auth`.",
    )
    ssl_client_auth = Key(
        choice(NO_CLIENT_AUTH, REQUESTED, REQUIRED),
        NO_CLIENT_AUTH,
        "Embedded cluster: whether clients need a certificate. With `requested`, those without one are"
        " anonymous.",
    )
    ssl_principal_mapping_rules = Key(
        TEXT,
        "DEFAULT",
        "Embedded cluster: rules that make the name of a principal of the subject of a certificate, as in"
        " Kafka. Patterns have the syntax of Python.",
    )
    sasl_enabled_mechanisms = Key(
        words(*MECHANISMS),
        "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "Embedded cluster: SASL mechanisms of the Kafka listeners.",
    )
    sasl_users_file = Key(
        FILE,
        "",
        "Embedded cluster: file with users for PLAIN and SCRAM, one `NAME PASSWORD` per line. It is read"
        " again when it changes. `kafka-configs` adds further users for SCRAM.",
    )
    plain_sasl_jaas_config = Key(
        TEXT,
        "",
        "Embedded cluster: users for PLAIN as on Kafka's brokers: `PlainLoginModule required"
        ' user_NAME="PASSWORD" ...;`.',
        secret=True,
    )
    oauthbearer_sasl_jaas_config = Key(
        TEXT,
        "",
        "Embedded cluster: `OAuthBearerLoginModule required ...;` with Kafka's options"
        " `unsecuredValidator...` for unsecured tokens.",
        secret=True,
    )
    sasl_oauthbearer_jwks_endpoint_url = Key(
        TEXT,
        "",
        "Embedded cluster: keys of signed tokens (JWKS), `https://...`, `http://...` or `file:///...`. If"
        " empty, OAUTHBEARER accepts unsecured tokens, and everyone can make these.",
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
        "Embedded cluster: time after which clients must log in again on the same connection; 0 for no"
        " limit.",
    )
    authorizer_class_name = Key(
        optional(choice(STANDARD_AUTHORIZER, OLD_AUTHORIZER)),
        "",
        "Embedded cluster: an authorizer with ACLs, under the name of one of Kafka's. If empty, everyone may"
        " do everything.",
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


class ZookeeperKeys:
    """Base class of `Settings`: ZooKeeper mode."""

    values: dict[str, Any]

    zookeeper_listener_name = Key(
        TEXT,
        "PLAINTEXT",
        "Name of the brokers' inter-broker listener. reassignd registers its own listener under this name.",
    )
    zookeeper_listener_security_protocol = Key(
        SECURITY_PROTOCOL,
        "",
        "Security protocol of that listener. If empty: `SSL` with a certificate, else `PLAINTEXT`.",
    )
    zookeeper_listeners = Key(
        LISTENERS,
        "",
        "Further listeners, with the names of the brokers' listeners, for clients that use these.",
    )
    zookeeper_broker_listener_name = Key(
        TEXT,
        "",
        "Name of the brokers' listener that reassignd connects to. If empty, the first one with the security"
        " protocol of `zookeeper.command.config`.",
    )
    zookeeper_command_config = Key(
        FILE,
        "",
        "Client properties for connections to the brokers, as for `--command-config` of Kafka's tools.",
    )
    zookeeper_set_acl = Key(
        SWITCH,
        "false",
        "Set ACLs on znodes, as on the brokers: only the login of reassignd can change them, everyone can"
        " read most of them.",
    )
    zookeeper_jaas_file = Key(
        FILE,
        "",
        "Login at ZooKeeper: a JAAS file like that of the brokers, with a `DigestLoginModule` in its section"
        " `Client` (SASL, DIGEST-MD5).",
    )
    zookeeper_digest_file = Key(
        FILE,
        "",
        "File with `USER:PASSWORD` for ZooKeeper's scheme `digest`, which its super user needs. Brokers"
        " cannot use this scheme.",
    )
    zookeeper_ssl_client_enable = Key(
        SWITCH,
        "false",
        "Use TLS to ZooKeeper. `zookeeper.connect` must have its secure port.",
    )
    zookeeper_ssl_endpoint_identification_algorithm = Key(
        IDENTIFICATION_ALGORITHM,
        "https",
        "Check the host name in the certificate of ZooKeeper; empty disables the check.",
    )
    zookeeper_tls_ca_file = Key(
        FILE,
        "",
        "Certificate authorities (PEM) for the certificate of ZooKeeper. If empty, those of the system.",
    )
    zookeeper_tls_certificate_file = Key(
        FILE, "", "Client certificate chain (PEM), if ZooKeeper requires one."
    )
    zookeeper_tls_key_file = Key(FILE, "", "Private key (PEM), if it is not in the certificate file.")
    zookeeper_tls_key_password_file = Key(
        FILE, "", "File with the password of the private key, if it has one."
    )
