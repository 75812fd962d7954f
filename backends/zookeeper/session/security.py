"""ZooKeeper login (TLS, SASL, digest) and the ACLs of created znodes (Kafka: ZkData.defaultAcls)."""

import ssl
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kazoo.security import ACL, CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

SENSITIVE = ("/config/users", "/config/brokers", "/delegation_token")
"""Parents of znodes that may contain secrets (Kafka: ZkData.SensitiveRootPaths)."""


class SaslLogin(NamedTuple):
    """A SASL login with DIGEST-MD5, the only mechanism of ZooKeeper that needs no Kerberos."""

    username: str
    password: str


@dataclass(frozen=True)
class ZookeeperSecurity:
    """TLS if there is a context, a SASL login, and a login by ZooKeeper's scheme `digest` (`USER:PASSWORD`).

    With `set_acl`, znodes that reassignd creates can be written only with the same login. All but the
    sensitive ones can be read without a login.
    """

    tls: ssl.SSLContext | None = None
    login: SaslLogin | None = field(default=None, repr=False)
    digest: str | None = field(default=None, repr=False)
    set_acl: bool = False

    def credentials(self) -> dict[str, Any]:
        """Return the logins as arguments of KazooClient."""
        arguments: dict[str, Any] = {}
        if self.login is not None:
            # kazoo does not encrypt requests after the login, so the quality of protection must be `auth`.
            arguments["sasl_options"] = {"mechanism": "DIGEST-MD5", "qops": ("auth",), **self.login._asdict()}
        if self.digest is not None:
            arguments["auth_data"] = [("digest", self.digest)]
        return arguments

    def acl(self, path: str) -> list[ACL]:
        """Return the ACL of a znode that is created at this path, relative to the chroot."""
        if not self.set_acl:
            return list(OPEN_ACL_UNSAFE)
        readable = [] if path.startswith(SENSITIVE) else READ_ACL_UNSAFE
        return [*CREATOR_ALL_ACL, *readable]


NO_SECURITY = ZookeeperSecurity()
