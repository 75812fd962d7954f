"""What can be configured of how we come to ZooKeeper itself. Names are those of Kafka's brokers where they have one."""

from typing import Any

from reassignd.kinds import CHECKED_NAME, FILE, Key, choice


class ZookeeperKeys:
    """Part of `Settings`."""

    values: dict[str, Any]

    zookeeper_set_acl = Key(
        choice("true", "false"),
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
        choice("true", "false"),
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
