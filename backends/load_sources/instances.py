"""Which broker a series is about."""

from collections.abc import Mapping
from ipaddress import ip_address

PODS = ("pod", "kubernetes_pod_name", "pod_name")
IDS = ("broker_id", "kafka_broker_id", "node_id")


class Instances:
    """The live brokers by what exporters call them.

    `hosts` are those at which they are reached. `given` has the broker of a value of any label, or of
    the host of the label `instance`; it comes first.
    """

    def __init__(self, hosts: Mapping[int, str], given: Mapping[str, int]) -> None:
        self._hosts = hosts
        self._given = {value: broker for value, broker in given.items() if broker in hosts}
        self._by_host = _unique(hosts)
        names = {broker: host.partition(".")[0] for broker, host in hosts.items() if not _is_address(host)}
        self._by_name = _unique(names)

    def broker(self, labels: Mapping[str, str]) -> int | None:
        """Return the broker of a series; None if it cannot be told."""
        instance = labels.get("instance", "")
        host = _host(instance)
        for value in (*labels.values(), host):
            if (known := self._given.get(value)) is not None:
                return known
        for label in IDS:
            if (text := labels.get(label, "")).isdecimal() and int(text) in self._hosts:
                return int(text)
        if (known := self._by_host.get(host)) is not None:
            return known
        names = [labels.get(label, "") for label in PODS]
        if not _is_address(host):
            names.append(host.partition(".")[0])
        return next((self._by_name[name] for name in names if name in self._by_name), None)


def _unique(names: Mapping[int, str]) -> dict[str, int]:
    """Return the brokers by name, without names of several ones."""
    every = list(names.values())
    return {name: broker for broker, name in names.items() if name and every.count(name) == 1}


def _host(instance: str) -> str:
    host, colon, port = instance.rpartition(":")
    return host.strip("[]") if colon and port.isdecimal() else instance


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
