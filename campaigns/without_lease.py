"""`python -m campaigns.without_lease` is the command `reassignd` whose instances do not check their lease.

`campaigns.survival` must find fault with it; else it would prove nothing.
"""

import sys

from backends.state_topic.lease import Lease, StepPermit
from reassignd.cli import main

if __name__ == "__main__":
    Lease.valid = property(lambda _: True)  # type: ignore[assignment, method-assign]
    StepPermit.__call__ = lambda _: True  # type: ignore[assignment, method-assign]
    sys.exit(main())
