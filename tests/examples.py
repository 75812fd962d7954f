"""How many examples the large models run: `REASSIGND_EXAMPLES=20000 pytest --timeout 0 tests/controller/test_properties.py`."""

import os


def examples(usual: int) -> int:
    """As many as the environment asks for, else the usual number."""
    return int(os.environ.get("REASSIGND_EXAMPLES", usual))
