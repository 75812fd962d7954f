"""Create certificates for tests with the `openssl` command.

An authority, and PEM files with a key and a signed chain.
"""

import subprocess
from collections.abc import Iterable
from pathlib import Path

DAYS = "2"
NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1"


def make(folder: Path, names: Iterable[str]) -> None:
    """Write `ca.pem`, and `NAME.pem` for each name.

    The common name is NAME, the alternative names are localhost's.
    """
    key = folder / "ca.key"
    _openssl("req", "-x509", *_new_key(key), "-subj", "/CN=ca", "-days", DAYS, "-out", str(folder / "ca.pem"))
    extensions = folder / "extensions"
    extensions.write_text(NAMES)
    for name in names:
        own, request, signed = (folder / f"{name}.{kind}" for kind in ("key", "csr", "crt"))
        _openssl("req", *_new_key(own), "-subj", f"/CN={name}", "-out", str(request))
        authority = ("-CA", str(folder / "ca.pem"), "-CAkey", str(key), "-CAcreateserial")
        _openssl(
            *("x509", "-req", "-in", str(request), "-out", str(signed), "-days", DAYS),
            *(*authority, "-extfile", str(extensions)),
        )
        (folder / f"{name}.pem").write_text(own.read_text() + signed.read_text())


def _new_key(path: Path) -> tuple[str, ...]:
    return ("-newkey", "rsa:2048", "-nodes", "-keyout", str(path))


def _openssl(*arguments: str) -> None:
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]} failed: {done.stderr.strip()}")
