"""The table of the APIs that the embedded cluster serves, for docs/embedded.md; `tools.reference` writes it.

It compares them with those of Kafka's brokers (`tools.broker_api_versions`). DIFFERENCES says what is
different in the effect.
"""

import textwrap
from collections.abc import Mapping

from server.dispatch.registry import ROUTES
from server.handlers import load
from tools.broker_api_versions import KAFKAS, names, recorded
from tools.written_parts import Parts, table

OF_BROKERS = (
    "Between brokers and controller of a cluster with ZooKeeper; brokers of a KRaft cluster do not serve it."
)

DIFFERENCES: Mapping[int, str] = {
    0: "Refuses every partition with INVALID_REQUEST: there is no data. Kafka stores the records.",
    2: "Offsets are simulated from the size of the partition.",
    3: "Creates no topics, whatever the request says.",
    4: OF_BROKERS,
    5: OF_BROKERS,
    6: OF_BROKERS,
    7: OF_BROKERS,
    10: "Has no coordinators: COORDINATOR_NOT_AVAILABLE for every key.",
    17: "GSSAPI is not offered.",
    18: "Lists the APIs of this table; finalized and supported features are empty.",
    19: "No policy class and no quotas.",
    20: "A topic whose partitions move is deleted after their steps have ended.",
    29: "None known.",
    30: "A denial has a shorter message: that of Kafka repeats the internal request.",
    31: "A denial has a shorter message: that of Kafka repeats the internal request.",
    32: "Topics and brokers only. Adds the limits `reassignment.*` and `embedded.*`; few broker configs.",
    33: "Topics and brokers only. Adds the limits `reassignment.*`.",
    34: "Data is simulated; the rate is `embedded.disk.bytes.per.second`.",
    35: "Log directories and sizes are simulated.",
    36: "SCRAM: an authorization id, or an extension with a name of several letters, ends the login.",
    37: "None known.",
    43: "None known.",
    44: "Topics and brokers only. Adds the limits `reassignment.*`.",
    45: (
        "Runs in steps under limits, and more: see [Differences](differences.md). Null topics or"
        " partitions cancel."
    ),
    46: "Null partitions mean all of a topic; tagged field 435 has the step in flight (KIP-435).",
    48: "There are no quotas: the list is empty.",
    50: "None known.",
    51: (
        "A login needs a salt of at least 12 bytes. A denial has a shorter message: that of Kafka"
        " repeats the internal request."
    ),
    56: "Kafka's brokers do not serve it to clients, only the controller to brokers.",
    60: "None known.",
    75: "No eligible leader replicas (KIP-966): these lists are empty.",
}
"""API key -> what Kafka 4.1 and 4.3 do differently."""


def _served() -> str:
    load()
    kafkas, known = recorded(), names()
    head = (
        "API",
        "Versions",
        *(f"Kafka {version}" for version in KAFKAS),
        "What differs from Kafka 4.1 and 4.3",
    )
    rows = []
    for key, route in sorted(ROUTES.items()):
        name = route.request.__name__.removesuffix("Request")
        measured = (_shown(kafkas[version].get(key)) for version in KAFKAS)
        ours = _shown((route.versions[0], route.versions[-1]))
        rows.append((f"{name} ({key})", ours, *measured, DIFFERENCES[key]))
    missing = [f"{known[key]} ({key})" for key in sorted(set().union(*kafkas.values()) - ROUTES.keys())]
    text = f"Kafka's brokers serve more, which the embedded cluster does not: {', '.join(missing)}."
    return f"{table(head, rows)}\n{textwrap.fill(text, 110, break_on_hyphens=False)}\n"


def _shown(versions: tuple[int, int] | None) -> str:
    if versions is None:
        return "none"
    low, high = versions
    return str(low) if low == high else f"{low}-{high}"


PARTS: Parts = {"served": _served}
