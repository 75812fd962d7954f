"""The health check of the image: exit code 0 if `/readyz` of this container returns 200."""

import os
import ssl
import sys
import urllib.request
from urllib.error import URLError

URL = os.environ.get("REASSIGND_URL", "http://127.0.0.1:9080")

context = ssl.create_default_context()
context.check_hostname = (
    False  # The certificate has the name of the service, and the request stays in the container.
)
context.verify_mode = ssl.CERT_NONE
try:
    urllib.request.urlopen(f"{URL}/readyz", timeout=4, context=context).close()
except (URLError, OSError) as error:
    sys.exit(f"not ready: {error}")
