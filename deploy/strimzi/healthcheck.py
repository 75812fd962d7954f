"""The probe: exit code 0 if the API answers the user `healthcheck`.

An answer of 500 is one too: a pod that starts, or whose Kafka does not answer, must not be restarted for it.
A pod that waits until another one has ended does not ask that one.
"""

import base64
import os
import ssl
import sys
import urllib.request
from pathlib import Path
from urllib.error import HTTPError

ROOT = Path(os.environ.get("REASSIGND_ROOT", "/"))
PASSWORD = ROOT / "opt/cruise-control/api-auth-config/healthcheck.password"
SECONDS = 2


def main() -> None:
    """Ask, and exit."""
    tls = os.environ.get("STRIMZI_CC_TLS_ENABLED") == "true"
    base = f"{'https' if tls else 'http'}://localhost:{os.environ.get('API_PORT', '9090')}"
    try:
        _, role = _ask(f"{base}/readyz")
        if "role: standby" in role:
            return
        status, _ = _ask(base + os.environ.get("API_HEALTHCHECK_PATH", "/kafkacruisecontrol/state"))
    except OSError as error:
        sys.exit(f"the API does not answer: {error}")
    if status not in (200, 500):
        sys.exit(f"the API answers with status {status}")


def _ask(url: str) -> tuple[int, str]:
    request = urllib.request.Request(url)
    user = os.environ.get("API_HEALTHCHECK_USERNAME", "healthcheck")
    login = base64.b64encode(f"{user}:{PASSWORD.read_text().strip()}".encode()).decode()
    request.add_header("authorization", f"Basic {login}")
    try:
        with urllib.request.urlopen(request, timeout=SECONDS, context=_context()) as response:
            return response.status, response.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def _context() -> ssl.SSLContext:
    """Return a context that checks no name: the request stays in the pod."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


if __name__ == "__main__":
    main()
