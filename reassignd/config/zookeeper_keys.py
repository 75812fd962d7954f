"""What can be configured of our listeners in ZooKeeper mode, of how we come to brokers, and to ZooKeeper itself.

Names are those of Kafka's brokers where they have one.
"""

from typing import Any

from reassignd.config.setting_types import CHECKED_NAME, FILE, LISTENERS, SECURITY_PROTOCOL, SWITCH, TEXT, Key


class ZookeeperKeys:
    """Part of `Settings`."""

    values: dict[str, Any]

    zookeeper_listener_name = Key(
        TEXT, "PLAINTEXT", "The name of the listener between brokers, under which we are registered."
    )
    zookeeper_listener_security_protocol = Key(
        SECURITY_PROTOCOL, "", "Its protocol; not set: `SSL` with a certificate, else `PLAINTEXT`."
    )
    zookeeper_listeners = Key(
        LISTENERS, "", "More of the brokers' listeners, at which clients find the controller too."
    )
    zookeeper_broker_listener_name = Key(
        TEXT,
        "",
        "The listener at which brokers are reached; when not set, their first with the protocol of `zookeeper.command.config`.",
    )
    zookeeper_command_config = Key(
        FILE,
        "",
        "How to connect to the brokers: client properties, as `--command-config` of Kafka's tools takes them.",
    )
    zookeeper_set_acl = Key(
        SWITCH,
        "false",
        "Make znodes as brokers do that have it: for those only who log in as we do, and for all others to read.",
    )
    zookeeper_jaas_file = Key(
        FILE,
        "",
        "How to log in at ZooKeeper: a JAAS file with a section `Client`, as the brokers have it, with a `DigestLoginModule` "
        "(SASL with DIGEST-MD5).",
    )
    zookeeper_digest_file = Key(
        FILE,
        "",
        "A file with `USER:PASSWORD` for ZooKeeper's scheme `digest`, by which its super user comes; brokers cannot.",
    )
    zookeeper_ssl_client_enable = Key(
        SWITCH,
        "false",
        "Speak TLS to ZooKeeper: `zookeeper.connect` names its port for that.",
    )
    zookeeper_ssl_endpoint_identification_algorithm = Key(
        CHECKED_NAME, "https", "Whether its certificate must be for the host that we connect to."
    )
    zookeeper_tls_ca_file = Key(
        FILE, "", "The authorities (PEM) that vouch for ZooKeeper; when not set, those of this machine."
    )
    zookeeper_tls_certificate_file = Key(
        FILE, "", "The certificate chain (PEM) that we show to ZooKeeper when it asks for one."
    )
    zookeeper_tls_key_file = Key(FILE, "", "Its private key (PEM), when that is not in the same file.")
    zookeeper_tls_key_password_file = Key(FILE, "", "A file with the password of that key, if it has one.")
