"""Settings for several instances before one cluster, whose records are in a topic of the cluster."""

from typing import Any

from reassignd.config.setting_types import ADDRESS, FILE, HOST, TEXT, Key, choice, integer

DIRECTORY, TOPIC = "directory", "topic"


class InstanceKeys:
    """Base class of `Settings`: several instances."""

    values: dict[str, Any]

    state = Key(
        choice(DIRECTORY, TOPIC),
        DIRECTORY,
        "Where a gateway keeps its records: in `data.dir`, which one process can use, or in a topic of the upstream cluster, "
        "which several instances can share. One of them is active; the others relay, and take over when it ends.",
    )
    state_topic = Key(
        TEXT,
        "__reassignd_state",
        "`state=topic`: name of the topic. Its name is the transactional id as well. It is created if it does not exist.",
    )
    state_topic_replication_factor = Key(
        integer(1, 32_767), "3", "`state=topic`: number of replicas of the topic when it is created."
    )
    gateway_session_timeout_ms = Key(
        integer(3000, 600_000),
        "6000",
        "`state=topic`: when the active instance has written nothing for this time, another one takes over. It must be "
        "the same on all instances.",
    )
    gateway_peer_listener = Key(
        ADDRESS,
        "127.0.0.1:0",
        "`state=topic`: address on which this instance accepts requests that other instances forward. Port 0 is any free one.",
    )
    gateway_peer_host = Key(
        HOST,
        "",
        "`state=topic`: host at which other instances reach this one, if it is not the host of `gateway.peer.listener`.",
    )
    gateway_peer_url = Key(
        TEXT,
        "",
        "`state=topic`: URL of this instance's HTTP for the other instances, if it is not the address of `http.listener`.",
    )
    gateway_peer_secret_file = Key(
        FILE,
        "",
        "`state=topic`: file with a secret that all instances share. Requests are forwarded only between instances that know it.",
    )
    gateway_peer_tls_certificate_file = Key(
        FILE,
        "",
        "`state=topic`: certificate chain (PEM) that all instances share. If set, they connect to each other by TLS.",
    )
    gateway_peer_tls_key_file = Key(FILE, "", "Private key (PEM), if it is not in the certificate file.")
