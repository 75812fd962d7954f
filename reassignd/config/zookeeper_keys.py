"""Settings for ZooKeeper mode: listeners, broker connections, the ZooKeeper session.

Keys have the names that Kafka's brokers use for the same settings, where there are any.
"""

from typing import Any

from reassignd.config.setting_types import (
    FILE,
    IDENTIFICATION_ALGORITHM,
    LISTENERS,
    SECURITY_PROTOCOL,
    SWITCH,
    TEXT,
    Key,
)


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
        "Name of the brokers' listener that reassignd connects to. If empty, the first one with the security protocol of `zookeeper.command.config`.",
    )
    zookeeper_command_config = Key(
        FILE,
        "",
        "Client properties for connections to the brokers, as for `--command-config` of Kafka's tools.",
    )
    zookeeper_set_acl = Key(
        SWITCH,
        "false",
        "Set ACLs on znodes, as on the brokers: only the login of reassignd can change them, everyone can read most of them.",
    )
    zookeeper_jaas_file = Key(
        FILE,
        "",
        "Login at ZooKeeper: a JAAS file like that of the brokers, with a `DigestLoginModule` in its section `Client` (SASL, DIGEST-MD5).",
    )
    zookeeper_digest_file = Key(
        FILE,
        "",
        "File with `USER:PASSWORD` for ZooKeeper's scheme `digest`, which its super user needs. Brokers cannot use this scheme.",
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
