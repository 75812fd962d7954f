"""An upstream in memory: DescribeConfigs and IncrementalAlterConfigs with Kafka's rules for lists."""

from typing import Any

from backends.client.errors import UnreachableError
from controller.model.cluster import ResourceType
from controller.model.configs import MAX_VALUE_BYTES, ConfigOp
from protocol.messages.describe_configs_request import DescribeConfigsRequest
from protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from protocol.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from tests.backends.upstream.scripted import Scripted

SET_ON_IT = {ResourceType.TOPIC: 1, ResourceType.BROKER: 2}
CLUSTER_WIDE, STATIC, DEFAULT = 3, 4, 5


class Configured(Scripted):
    """`values` are by resource type, name and config.

    Brokers in `dead` do not answer; topics in `gone` do not exist.
    """

    def __init__(self, brokers: int = 3) -> None:
        super().__init__(brokers)
        self.values: dict[tuple[int, str], dict[str, str]] = {}
        self.defaults: dict[str, str] = {}
        self.cluster_wide: dict[str, str] = {}
        """Dynamic configs of all brokers."""
        self.own_settings: dict[str, str] = {}
        """Configs in the brokers' own files."""
        self.unapplied: set[str] = set()
        """Configs that brokers could not apply: they show them as synonyms of an empty value."""
        self.dead: set[int] = set()
        self.shown: dict[tuple[int, str], dict[str, str]] | None = None
        """What brokers return instead of `values` while their metadata lags."""
        self.gone: set[str] = set()
        self.refused: set[str] = set()
        self.answers[DescribeConfigsRequest] = self._describe
        self.answers[IncrementalAlterConfigsRequest] = self._alter

    def of(self, kind: ResourceType, name: str) -> dict[str, str]:
        """Return the values that are set on the resource."""
        return self.values.setdefault((int(kind), name), {})

    def topic(self, name: str) -> dict[str, str]:
        return self.of(ResourceType.TOPIC, name)

    def broker(self, number: int) -> dict[str, str]:
        return self.of(ResourceType.BROKER, str(number))

    def _describe(self, request: DescribeConfigsRequest, broker: int | None) -> Any:
        if broker in self.dead:
            return UnreachableError("dead")
        return DescribeConfigsResponse(
            results=[self._described(r.resource_type, r.resource_name) for r in request.resources]
        )

    def _described(self, kind: int, name: str) -> DescribeConfigsResult:
        if name in self.refused:
            return DescribeConfigsResult(29, "not for you", kind, name, [])
        if name in self.gone:
            return DescribeConfigsResult(3, "gone", kind, name, [])
        shown = self.shown
        own = self.of(ResourceType(kind), name) if shown is None else shown.get((kind, name), {})
        source = SET_ON_IT[ResourceType(kind)]
        rows = [self._own(c, v, source) for c, v in own.items()]
        common = self.cluster_wide if kind == ResourceType.BROKER else {}
        common = {c: v for c, v in common.items() if c not in own}
        rows += [DescribeConfigsResourceResult(c, v, config_source=CLUSTER_WIDE) for c, v in common.items()]
        static = self.own_settings if kind == ResourceType.BROKER else {}
        static = {c: v for c, v in static.items() if c not in own and c not in common}
        rows += [DescribeConfigsResourceResult(c, v, config_source=STATIC) for c, v in static.items()]
        defaults = {c: v for c, v in self.defaults.items() if c not in own and c not in common}
        rows += [DescribeConfigsResourceResult(c, v, config_source=DEFAULT) for c, v in defaults.items()]
        return DescribeConfigsResult(0, None, kind, name, rows)

    def _own(self, name: str, value: str, source: int) -> DescribeConfigsResourceResult:
        shown = "" if name in self.unapplied else value
        synonyms = [DescribeConfigsSynonym(name, value, source)]
        return DescribeConfigsResourceResult(name, shown, config_source=source, synonyms=synonyms)

    def _alter(self, request: IncrementalAlterConfigsRequest, broker: int | None) -> Any:
        if broker in self.dead:
            return UnreachableError("dead")
        return IncrementalAlterConfigsResponse(
            responses=[
                AlterConfigsResourceResponse(*self._altered(r), r.resource_type, r.resource_name)
                for r in request.resources
            ]
        )

    def _altered(self, resource: Any) -> tuple[int, str | None]:
        if resource.resource_name in self.gone:
            return 3, "gone"
        if resource.resource_name in self.refused:
            return 29, "not for you"
        own = self.of(ResourceType(resource.resource_type), resource.resource_name)
        for name, op, value in resource.configs:
            items = [each for each in own.get(name, "").split(",") if each]
            given = (value or "").split(",")
            match ConfigOp(op):
                case ConfigOp.SET:
                    own[name] = value
                case ConfigOp.DELETE:
                    own.pop(name, None)
                case ConfigOp.APPEND:
                    if "*" in items:
                        return 40, "* stands alone"
                    longer = ",".join(items + [each for each in given if each not in items])
                    if len(longer) > MAX_VALUE_BYTES:
                        return 40, "the value is too long"
                    own[name] = longer
                case ConfigOp.SUBTRACT:
                    own[name] = ",".join(each for each in items if each not in given)
        return 0, None
