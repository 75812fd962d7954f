"""`python -m reassignd` is the command `reassignd`."""

import sys

from reassignd.cli import main

sys.exit(main())
