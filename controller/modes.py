"""The modes in which reassignd runs.

Who carries out the steps, and what a cluster of that kind does by itself.
"""

from controller.execution import direct_steps
from controller.gateway import steps
from controller.state.state import Mode

EMBEDDED = Mode(direct_steps)
GATEWAY = Mode(steps, is_gateway=True, measures_sizes=True)
ZOOKEEPER = Mode(
    direct_steps, grows_while_moving=False, drops_when_back=False, measures_sizes=True, keeps_topics=False
)
