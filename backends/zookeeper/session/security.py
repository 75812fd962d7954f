"""How we come to ZooKeeper, and for whom the znodes are that we make (Kafka: ZkData.defaultAcls)."""

import ssl
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kazoo.security import ACL, CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

SENSITIVE = ("/config/users", "/config/brokers", "/delegation_token")
"""What is below may hold secrets (Kafka: ZkData.SensitiveRootPaths)."""


class SaslLogin(NamedTuple):
    """Who we are by SASL, with DIGEST-MD5: the only one of ZooKeeper's mechanisms that needs no Kerberos."""

    username: str
    password: str


@dataclass(frozen=True)
class ZookeeperSecurity:
    """TLS if there is a context; who we are by SASL, and by ZooKeeper's scheme `digest` (`USER:PASSWORD`).

    With `set_acl` the znodes that we make are for those only who log in as we do, and all but sensitive ones can be read by all.
    """

    tls: ssl.SSLContext | None = None
    login: SaslLogin | None = field(default=None, repr=False)
    digest: str | None = field(default=None, repr=False)
    set_acl: bool = False

    def credentials(self) -> dict[str, Any]:
        """As KazooClient takes them."""
        given: dict[str, Any] = {}
        if self.login is not None:
            # kazoo would not encrypt what it sends thereafter: nothing but `auth` may be agreed on.
            given["sasl_options"] = {"mechanism": "DIGEST-MD5", "qops": ("auth",), **self.login._asdict()}
        if self.digest is not None:
            given["auth_data"] = [("digest", self.digest)]
        return given

    def acl(self, path: str) -> list[ACL]:
        """Of a znode that is made at this path, which is relative to the chroot."""
        if not self.set_acl:
            return list(OPEN_ACL_UNSAFE)
        readable = [] if path.startswith(SENSITIVE) else READ_ACL_UNSAFE
        return [*CREATOR_ALL_ACL, *readable]


NO_SECURITY = ZookeeperSecurity()
