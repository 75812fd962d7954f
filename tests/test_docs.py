"""Rules of the documentation: the files, sections and modules that it names exist."""

import re
import shlex
from itertools import takewhile
from pathlib import Path

import click
import pytest

from reassignd.cli import cli
from reassignd.config.settings import KEYS
from tests.test_layout import PACKAGES, ROOT, name_of
from tools import pace_graph

TOP = [ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY")]
PAGES = [*TOP, *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = "|".join((*PACKAGES, "bench", "campaigns", "tests", "docs", "schemas"))
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
PATH = re.compile(rf"`((?:{FOLDERS})/[^`*\s]*)`")
MODULE = re.compile(rf"`(?:python -m )?((?:{FOLDERS})(?:\.[a-z_]+)+)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the anchors of the page's headings, in the form of GitHub."""
    headings = HEADING.findall(page.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def module_exists(name: str) -> bool:
    """Return whether the name is that of a module, a package, a name in one of them, or a setting."""
    if name in KEYS or name == "server.properties":
        return True
    path = ROOT / name.replace(".", "/")
    return path.is_dir() or any(each.with_suffix(".py").exists() for each in (path, path.parent))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_and_sections(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text("utf-8")):
        file = page.parent / target if target else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_named_files_and_modules_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    assert [path for path in PATH.findall(text) if not (ROOT / path).exists()] == []
    assert [name for name in MODULE.findall(text) if not module_exists(name)] == []


def test_the_graphs_of_pace_are_drawn_from_the_present_control_law() -> None:
    assert pace_graph.main(["--check"]) == 0


BLOCK = re.compile(r"^ *```(?:sh|console)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^ *(?:\$ )?(?:sudo )?(?:\S*/)?reassignd ((?:[^\\\n]|\\\n)+)", re.MULTILINE)


def commands(page: Path) -> list[str]:
    """Return the commands of reassignd in the page's blocks, without the word `reassignd`."""
    blocks = "\n".join(BLOCK.findall(page.read_text("utf-8")))
    found = [each.replace("\\\n", " ").strip() for each in COMMAND.findall(blocks)]
    return [each for each in found if not re.search(r"[$<]|\bVERSION\b", each)]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_in_the_docs_have_valid_arguments(page: Path) -> None:
    for text in commands(page):
        parse(text)


def parse(text: str) -> None:
    """Parse the command, as far as a pipe or redirection, without running it.

    Files that it names need not exist.
    """
    command: click.Command = cli
    words = filter(None, shlex.split(text, comments=True))
    arguments = list(takewhile(lambda word: word[0] not in "|>&;", words))
    # Commands keep the help option of their first context, which needs the settings of the whole program.
    context = click.Context(cli, **cli.context_settings)
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        found = command.get_command(context, arguments[0])
        assert found is not None, f"reassignd {text}: there is no command {arguments[0]}"
        command, arguments = found, arguments[1:]
    try:
        command.make_parser(click.Context(command, parent=context)).parse_args(arguments)
    except click.UsageError as error:
        raise AssertionError(f"reassignd {text}: {error.format_message()}") from error


def test_commands_are_found_and_wrong_ones_are_noticed() -> None:
    assert len(commands(ROOT / "docs" / "recipes.md")) > 15
    with pytest.raises(AssertionError, match="No such option"):
        parse("limits P=2 --dry")
    with pytest.raises(AssertionError, match="there is no command"):
        parse("limit P=2")


DECISION = re.compile(
    r"^\*\*(\d+)\. .*?\n\*Status: (in force|superseded)(.*?)\.\*$", re.MULTILINE | re.DOTALL
)


def test_decisions_are_numbered_without_gaps_and_have_a_status() -> None:
    text = (ROOT / "docs/decisions.md").read_text("utf-8")
    found = {int(number): rest for number, _, rest in DECISION.findall(text)}
    assert sorted(found) == list(range(1, len(found) + 1))
    assert len(found) == text.count("*Status: ") == len(re.findall(r"^\*\*\d", text, re.MULTILINE))
    assert {int(other) for rest in found.values() for other in re.findall(r"\d+", rest)} <= set(found)


SHOWN_BY = re.compile(r"`(tests/[\w/]+\.py)`: `(test_\w+)` \|$")


def test_each_row_about_the_drafts_of_the_kips_names_a_test_that_exists() -> None:
    lines = (ROOT / "docs/drafts.md").read_text("utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| ") and not line.startswith("| draft |")]
    assert len(rows) > 50
    for row in rows:
        named = SHOWN_BY.search(row)
        assert named is not None, row
        file, test = named.groups()
        assert re.search(rf"^(?:async )?def {test}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE), row


def test_the_logger_in_the_example_of_a_log_line_is_a_module_of_an_installation() -> None:
    [logger] = re.findall(
        r'"logger": "reassignd\.([\w.]+)"', (ROOT / "docs/observability.md").read_text("utf-8")
    )
    assert (ROOT / f"{logger.replace('.', '/')}.py").is_file()


def test_the_events_in_the_table_of_log_events_are_those_of_the_code() -> None:
    page = (ROOT / "docs/observability.md").read_text("utf-8")
    table = page.partition("| event | further fields | when |")[2].partition("\n\n")[0]
    documented = {
        name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])
    }
    source = "".join(
        file.read_text("utf-8")
        for folder in ("server", "reassignd")
        for file in (ROOT / folder).rglob("*.py")
    )
    found = set(re.findall(r'"event": "(\w+)"', source))
    assert {"resuming", "serving"} <= found
    assert found - documented == set()
