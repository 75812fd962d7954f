"""The file in which older versions kept the throttle that they set on the upstream.

It is read once, then removed.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from backends.datadir import StoreError
from common.durable_file import remove_file
from controller.configs.names import RATES, THROTTLED_REPLICAS
from controller.messages.upstream_events import LeasesImported
from controller.model.configs import Lease, ResourceType
from controller.ports import SubmitEvent

FILE = "throttles.json"

CONFIGS = {ResourceType.TOPIC: THROTTLED_REPLICAS, ResourceType.BROKER: RATES}


async def import_leases(directory: Path, submit: SubmitEvent) -> None:
    """Make the file's leases records, then remove it. Raises StoreError when it cannot be read or removed."""
    leases = read_leases(directory)
    if leases is not None:
        await submit(LeasesImported(leases))
        remove(directory)


def read_leases(directory: Path) -> list[Lease] | None:
    """The leases in the directory's file, or None without a file. Raises StoreError."""
    path = directory / FILE
    try:
        return _leases(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{path} cannot be read ({error}). It says which throttles were set on the upstream: take off "
            "what is left of them with kafka-configs, then remove the file"
        ) from error


def remove(directory: Path) -> None:
    """Remove the file, whose leases are records now. Raises StoreError."""
    path = directory / FILE
    try:
        remove_file(path)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be removed ({error.strerror}): its throttles are kept elsewhere now. Remove it"
        ) from error


def _leases(tables: object) -> list[Lease]:
    """Check the file's structure: {topics: {topic: {config: [entry]}}, brokers: {id: {config: [rate]}}}.

    Raises ValueError.
    """
    leases = []
    for kind, field in ((ResourceType.TOPIC, "topics"), (ResourceType.BROKER, "brokers")):
        for name, configs in _table(_table(tables).get(field)).items():
            if kind is ResourceType.BROKER:
                int(name)
            for config, values in _table(configs).items():
                if (
                    config not in CONFIGS[kind]
                    or not isinstance(values, list)
                    or not all(isinstance(value, str) for value in values)
                ):
                    raise ValueError("it is not a list of throttles")
                leases.append(Lease(kind, name, config, ",".join(values), None))
    return leases


def _table(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError("it is not a list of throttles")
    return value
