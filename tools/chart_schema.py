"""The keys of `config` and `limits` in the schema of the Helm chart's values; `tools.reference` writes them.

They are those that a gateway accepts, with the ranges and words of docs/configuration.md. Another text, such
as a path, is checked by the process only; of a schedule only the form is checked here.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from controller.cluster.config_keys import INT_MAX, ConfigKey, ConfigType
from controller.schedule.periods import no_zones
from controller.scheduling.limits import ALIASES
from reassignd.config.keys import LISTENER_KEYS
from reassignd.config.setting_types import SWITCH, SettingType
from reassignd.config.settings import INITIAL, KEYS, config_of

Schema = Mapping[str, Any]

INDENT = " " * 4
LIMIT_REF = "#/definitions/limits/properties/"
LINE: Schema = {"type": ["string", "number", "boolean"], "pattern": "^[^\\r\\n]*$"}
"""Any value that is one line in the file of settings."""

_TIME = "[0-9]{1,2}:[0-9]{2}"
_PERIOD = f"[^0-9=;\\r\\n]*{_TIME}[ \\t]*-[ \\t]*{_TIME}([ \\t]+[A-Za-z]+[ \\t]*=[^;\\r\\n]*)?"
_ENTRY = f"[ \\t]*({_PERIOD}|[Tt][Zz][ \\t]*=[^;\\r\\n]*)?[ \\t]*"
SCHEDULE: Schema = {"type": "string", "pattern": f"^{_ENTRY}(;{_ENTRY})*$"}
"""The form of `controller.schedule.periods`: the process checks the days, the times, the rates and the
zone."""

TYPES = {ConfigType.INT: "integer", ConfigType.LONG: "integer", ConfigType.DOUBLE: "number"}
TEXTS: Mapping[str, Schema] = {
    "a list of broker ids": {
        "type": ["string", "integer"],
        "pattern": "^[0-9, ]*$",
        "minimum": 0,
        "maximum": INT_MAX,
    },
    "a topic name: 1 to 249 letters, digits, dots, underscores and hyphens": {
        **LINE,
        "pattern": "^[A-Za-z0-9._-]{1,249}$",
    },
    "http://HOST:PORT or https://HOST:PORT, without a user: all may read it who may read configs": {
        "type": "string",
        "pattern": "^([Hh][Tt][Tt][Pp][Ss]?://[^ @?#]+)?$",
    },
    "a list of VALUE=ID, each VALUE once, such as 10.0.0.1:9404=1": {
        "type": "string",
        "pattern": "^( *[^,=]+= *[0-9]+ *(,|$))*$",
    },
    "a list of BROKER:PATH, such as 3:/data2": {
        "type": "string",
        "pattern": "^( *[0-9]+:[^,\\r\\n]+(,|$))*$",
    },
}
"""What a config accepts -> the schema of its values."""


def rewritten(schema: str) -> str:
    """Return the text of the schema with the present keys. Raises ValueError when a definition is missing."""
    for name, known in definitions().items():
        block = re.compile(rf'^{INDENT}"{name}": \{{\n.*?^{INDENT}\}}', re.DOTALL | re.MULTILINE)
        found = block.findall(schema)
        if len(found) != 1:
            raise ValueError(f"the schema must have one definition {name!r} on lines of its own")
        schema = schema.replace(found[0], _definition(name, known))
    return schema


def definitions() -> dict[str, dict[str, Schema]]:
    """Return the schemas of the values by the name of the definition, and by key."""
    names = sorted([*INITIAL, *ALIASES])
    accepted = {name: of_setting(key.kind) for name, key in KEYS.items() if name not in LISTENER_KEYS}
    return {
        "limits": {name: of_limit(INITIAL[config_of(name)]) for name in names},
        "config": dict(sorted(accepted.items())) | {name: {"$ref": LIMIT_REF + name} for name in names},
    }


def of_limit(key: ConfigKey) -> Schema:
    """Return the schema of the initial value of a config."""
    valid = key.check("?", no_zones) or ""
    if key.accepts is None:
        return SCHEDULE
    if key.type in TYPES:
        low, high = re.findall(r"[0-9.]+", valid)
        return {"type": TYPES[key.type], "minimum": json.loads(low), "maximum": json.loads(high)}
    if valid.startswith("one of "):
        return {"enum": valid.removeprefix("one of ").split(", ")}
    return TEXTS.get(valid, LINE)


def of_setting(kind: SettingType[Any]) -> Schema:
    """Return the schema of a setting of this type.

    The process ignores the case of words; the schema accepts them as they are documented, and in lower and
    upper case.
    """
    if kind is SWITCH:
        return {"enum": [True, False, "true", "false"]}
    if match := re.fullmatch(r"an integer in \[([0-9]+), ([0-9]+)\]", kind.valid):
        return {"type": "integer", "minimum": int(match[1]), "maximum": int(match[2])}
    if match := re.fullmatch(r"(?:one of )?(\w+(?:, \w+)*)(, or nothing)?", kind.valid):
        names = match[1].split(", ")
        spelled = [*names, *map(str.lower, names), *map(str.upper, names)]
        return {"enum": list(dict.fromkeys([*spelled, *([""] if match[2] else [])]))}
    return {"$ref": "#/definitions/setting"}


def _definition(name: str, known: Mapping[str, Schema]) -> str:
    """Return the definition as text, with one key on each line."""
    lines = ",\n".join(f"{INDENT * 2}{json.dumps(key)}: {json.dumps(each)}" for key, each in known.items())
    return (
        f'{INDENT}"{name}": {{\n'
        f'      "description": "Generated by python -m tools.reference",\n'
        f'      "type": "object",\n      "additionalProperties": false,\n'
        f'      "properties": {{\n{lines}\n      }}\n{INDENT}}}'
    )
