"""The names in docstrings exist.

In backticks: files, `module.name`, `Class.attribute`, and single names of several words. Without backticks a
word with `_` is an error code, an environment variable or a constant of the module, and a word that ends with
`Error` is an exception.
"""

import builtins
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from inspect import cleandoc
from pathlib import Path

import pytest

from common.error_codes import ErrorCode
from controller.cluster.config_keys import BROKER_KEYS, TOPIC_KEYS
from controller.model.access import Operation
from reassignd.config.settings import KEYS
from tests.test_layout import GENERATED, PACKAGES, ROOT, name_of, parsed, written

QUOTED = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[\w./-]+\.(?:py|md|json|toml|sh|yaml|yml|js|css|html)")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:\(\))?")
SINGLE = re.compile(r"_?[A-Za-z]+(?:_[A-Za-z]+)+(?:\(\))?|(?:[A-Z][a-z]+){2,}")
WORD = re.compile(r"[A-Za-z_]\w+")
ASIDE = re.compile(r"`[^`]*`|^ {4}.*$", re.MULTILINE)
"""What stands in backticks, and lines of code and of tables."""
BARE = re.compile(r"(?<![\w./:{<-])_?[A-Za-z]\w*_\w+")
EXCEPTION = re.compile(r"\b(?:[A-Z][A-Za-z]*)?[a-z]Error\b")
ENVIRONMENT = re.compile(r"(?:OTEL|REASSIGND)_[A-Z_]+")

CODES = {*ErrorCode.__members__, *Operation.__members__}

ELSEWHERE = {
    "inet_diag_msg": "Linux",
    "inet_diag_req_v2": "Linux",
    "InetAddress.getHostAddress": "Java",
    "KIND-GROUP-VERSION.json": "files of the Kubernetes schemas",
    "HashLoginService": "Jetty",
    "max.active.user.tasks": "a config of Cruise Control",
    "webserver.session.maxExpiryTimeMs": "a config of Cruise Control",
    "capacity.json": "a file of Cruise Control",
    "CalledProcessError": "subprocess",
    "disk.capacity.threshold": "a config of Cruise Control",
    "max.replicas.per.broker": "a config of Cruise Control",
    "min.valid.partition.ratio": "a config of Cruise Control",
    "log_dirs": "a key of Kafka's plan files",
    "pace.json": "a file that bench.pace writes",
    "prometheus_client": "a package",
    "reassign_partitions_queue": "a znode of KIP-236",
    "replica.fetch.max.bytes": "a config of Kafka's brokers",
    "replication.quota.window.num": "a config of Kafka's brokers",
    "report.html": "a file that `reassignd plan` writes",
    "sasl.jaas.config": "a config of Kafka's clients",
    "sd_notify(3)": "systemd",
    "server.properties": "a file of Kafka",
    "sock_diag(7)": "Linux",
    "steps.parquet": "a file that `reassignd plan` writes",
    "summary.json": "a file that `reassignd plan` writes",
    "waves.parquet": "a file that `reassignd plan` writes",
    "zoo.cfg": "a file of ZooKeeper",
}
"""Names that are not of this repository's source, with what they belong to."""


class Module:
    """The names of one module, and its docstrings."""

    def __init__(self, path: Path) -> None:
        self.path = path
        docs = parsed(path).docs
        lines = path.read_text("utf-8").splitlines()
        for first, last, _ in docs:
            lines[first - 1 : last] = [""] * (last - first + 1)
        self.docs = [(first, text) for first, _, text in docs]
        self.words = set(WORD.findall("\n".join(lines)))


@cache
def modules() -> list[Module]:
    folders = [*PACKAGES, "bench", "campaigns"]
    return [Module(path) for folder in folders for path in written(ROOT / folder)]


@cache
def by_stem() -> dict[str, set[str]]:
    """The words of the modules and packages of each name."""
    found: dict[str, set[str]] = defaultdict(set)
    for module in modules():
        found[module.path.stem] |= module.words
        found[module.path.parent.name] |= {module.path.stem, *module.words}
    return found


@cache
def all_words() -> frozenset[str]:
    generated = (path.read_text("utf-8") for path in GENERATED.rglob("*.py"))
    return frozenset().union(*(each.words for each in modules()), *(WORD.findall(text) for text in generated))


@cache
def named_tests() -> frozenset[str]:
    """The names of all tests."""
    texts = (path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    return frozenset(name for text in texts for name in re.findall(r"def (test_\w+)", text))


@cache
def files() -> frozenset[str]:
    """The names of all files, but those in hidden folders and in folders that are made."""
    folders = [
        each for each in ROOT.iterdir() if each.is_dir() and each.name[0] != "." and each.name != "build"
    ]
    return frozenset(path.name for folder in folders for path in folder.rglob("*.*"))


def exists(name: str, path: Path) -> bool:
    """Return whether a name in a docstring of the file exists."""
    name = name.removesuffix("()")
    if name in ELSEWHERE or name in KEYS or name in BROKER_KEYS or name in TOPIC_KEYS:
        return True
    if FILE.fullmatch(name):
        return any((each / name).exists() for each in (ROOT, path.parent)) or name in files()
    if name.startswith("test_"):
        return name in named_tests()
    if not DOTTED.fullmatch(name):
        return name in all_words()
    first, *rest = name.split(".")
    if first in PACKAGES:
        return in_package(name)
    if first in by_stem():
        return set(rest) <= by_stem()[first]
    if first in all_words():
        return set(rest) <= all_words()
    return find_spec(first) is not None


def in_package(name: str) -> bool:
    """Return whether a name that begins with a package is a module, or a name in it."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        place = ROOT.joinpath(*parts[:length])
        if place.with_suffix(".py").exists() or place.is_dir():
            return set(parts[length:]) <= by_stem().get(parts[length - 1], set())
    return False


def wrong_names() -> Iterator[str]:
    for module in modules():
        for line, text in module.docs:
            for name in QUOTED.findall(text):
                if any(each.fullmatch(name) for each in (FILE, DOTTED, SINGLE)) and not exists(
                    name, module.path
                ):
                    yield f"{name_of(module.path)}:{line}: {name}"


def bare_names(module: Module) -> Iterator[str]:
    """Yield the words with `_` that stand without backticks, but should not."""
    for line, text in module.docs:
        for word in BARE.findall(ASIDE.sub("", cleandoc(text))):
            known = word.isupper() and (word in module.words or word in CODES)
            if not known and not ENVIRONMENT.fullmatch(word):
                yield f"{name_of(module.path)}:{line}: {word}"


def wrong_exceptions(module: Module) -> Iterator[str]:
    """Yield the exceptions that stand without backticks, as after `Raises`, and do not exist."""
    for line, text in module.docs:
        for name in EXCEPTION.findall(ASIDE.sub("", cleandoc(text))):
            if not hasattr(builtins, name) and name not in all_words():
                yield f"{name_of(module.path)}:{line}: {name}"


def test_names_in_docstrings_exist() -> None:
    assert list(wrong_names()) == []


def test_names_without_backticks_are_codes_or_constants_of_the_module() -> None:
    assert [name for module in modules() for name in bare_names(module)] == []


def test_exceptions_without_backticks_exist() -> None:
    assert [name for module in modules() for name in wrong_exceptions(module)] == []


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/how-it-works.md", "docs/decisions.md"])
def test_names_in_documents_about_the_code_exist(page: str) -> None:
    quoted = QUOTED.findall((ROOT / page).read_text("utf-8"))
    names = {name for name in quoted if any(each.fullmatch(name) for each in (FILE, DOTTED, SINGLE))}
    assert [
        name for name in names if not (name.startswith("reassignment.") or exists(name, ROOT / page))
    ] == []


def test_wrong_names_are_noticed() -> None:
    path = ROOT / "controller/machine.py"
    for name in ("machine.py", "machine.decide", "controller.machine.decide", "Decision.put", "asyncio.run"):
        assert exists(name, path), name
    for name in (
        "engine.py",
        "machine.undecide",
        "controller.engine",
        "Decision.retract",
        "ClusterSnapshots",
    ):
        assert not exists(name, path), name


def test_names_of_elsewhere_are_in_docstrings() -> None:
    quoted = {name for module in modules() for _, text in module.docs for name in QUOTED.findall(text)}
    assert set(ELSEWHERE) <= quoted
