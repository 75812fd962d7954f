"""The choice of the runtime, by the setting `backend`."""

from reassignd.config.config import UPSTREAM, ZOOKEEPER, Settings
from reassignd.config.instance_keys import TOPIC
from reassignd.runtime.embedded import EmbeddedRuntime
from reassignd.runtime.gateway import GatewayRuntime
from reassignd.runtime.instances.runtime import InstancesRuntime
from reassignd.runtime.runtime import Runtime
from reassignd.tracing.setting import check_traces


def make_runtime(settings: Settings, *, demo_topics: bool) -> Runtime:
    """Return the configured runtime; `demo_topics` concerns the embedded cluster only. Raises CommandError or ConfigError."""
    check_traces(settings)
    if settings.backend == ZOOKEEPER:
        # Imported here for the time that kazoo takes, which the other runtimes do without.
        from reassignd.runtime.zookeeper import ZookeeperRuntime

        return ZookeeperRuntime(settings)
    if settings.backend == UPSTREAM and settings.state == TOPIC:
        return InstancesRuntime(settings)
    if settings.backend == UPSTREAM:
        return GatewayRuntime(settings)
    return EmbeddedRuntime(settings, demo_topics=demo_topics)
