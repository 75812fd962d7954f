import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from reassignd import __version__, cli, serve
from reassignd.config.errors import CommandError, UnreachableError
from reassignd.config.settings import Settings


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Settings, bool]]:
    """Record the settings that `serve` is run with, without running a server."""
    asked: list[tuple[Settings, bool]] = []

    def run(settings: Settings, *, demo_topics: bool) -> None:
        asked.append((settings, demo_topics))

    monkeypatch.setattr(serve, "run", run)
    return asked


def run_failing(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Return the exit code and stderr, which must be one line."""
    code = cli.main(arguments)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return code, err.strip()


def test_prints_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"reassignd {__version__}\n"


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    assert "serve" in capsys.readouterr().out


def test_serve_without_arguments_uses_the_defaults(served: list[tuple[Settings, bool]]) -> None:
    assert cli.main(["serve"]) == 0
    [(settings, demo_topics)] = served
    assert (str(settings.listener), settings.embedded_brokers, demo_topics) == ("127.0.0.1:9092", 6, False)


def test_every_flag_sets_its_key(served: list[tuple[Settings, bool]]) -> None:
    places = ["--listener", "[::1]:1", "--http", "h:2", "--data-dir", "d"]
    ways = ["--backend", "embedded", "--brokers", "3", "--log-format", "json", "--demo-topics"]
    cli.main(["serve", *places, *ways])
    [(settings, demo_topics)] = served
    assert (settings.embedded_brokers, str(settings.listener), str(settings.http_listener)) == (
        3,
        "[::1]:1",
        "h:2",
    )
    assert (settings.data_dir, settings.log_format, demo_topics) == (Path("d"), "json", True)


def test_a_flag_takes_precedence_over_an_override_and_an_override_over_the_file(
    served: list[tuple[Settings, bool]], tmp_path: Path
) -> None:
    file = tmp_path / "some.properties"
    file.write_text("embedded.brokers=1\nembedded.racks=1\nlog.level=WARN\n")
    overrides = ["--override", "embedded.brokers=2", "--override", "embedded.racks=2"]
    cli.main(["serve", "--brokers", "4", "--config", str(file), *overrides])
    [(settings, _)] = served
    assert (settings.embedded_brokers, settings.embedded_racks, settings.log_level) == (4, 2, "WARN")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["serve", "--brokers", "0"],
            "--brokers: '0' is not valid for embedded.brokers: expected an integer in",
        ),
        (
            ["serve", "--override", "lissener=x:1"],
            "--override: unknown key 'lissener'; the nearest known one is",
        ),
        (["serve", "--override", "listener"], "--override listener: expected key=value"),
        (
            ["serve", "--config", "no/such.properties"],
            "cannot read no/such.properties: No such file or directory",
        ),
        (["serve", "--brokrs", "3"], "No such option '--brokrs'. Did you mean '--brokers'?"),
        (["priority", "2", "-5"], "No such option '-5'. Write -- before a negative number."),
        (["serve", "extra"], "Got unexpected extra argument (extra)"),
        (["sevre"], "there is no command 'sevre'; did you mean serve?"),
    ],
)
def test_invalid_arguments_exit_with_2_and_one_line(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, line = run_failing(capsys, *arguments)
    assert code == 2
    assert line.startswith(f"reassignd: {expected}")


def test_a_failure_exits_with_1_and_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(_: Settings, *, demo_topics: bool) -> None:
        raise CommandError(f"no luck\nwith demo_topics={demo_topics}")

    monkeypatch.setattr(serve, "run", run)
    assert run_failing(capsys, "serve") == (1, "reassignd: no luck with demo_topics=False")


def test_an_interrupt_before_the_signal_handlers_are_set_exits_with_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(_: Settings, *, demo_topics: bool) -> None:
        raise KeyboardInterrupt(demo_topics)

    monkeypatch.setattr(serve, "run", run)
    assert cli.main(["serve"]) == 1
    assert capsys.readouterr().err.strip() == "reassignd: interrupted"


def test_the_help_lists_each_command_once(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["--help"])
    shown = capsys.readouterr().out.partition("See what happens:")[2].partition("Examples:")[0]
    listed = re.findall(r"^  (\w+)  ", shown, re.MULTILINE)
    assert sorted(listed) == sorted({*cli.SUBCOMMANDS, "serve"})


def commands_below(command: click.Command, parent: click.Context | None = None) -> Iterator[click.Command]:
    """Yield the command and its subcommands."""
    yield command
    if isinstance(command, click.Group):
        context = click.Context(command, parent)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands_below(found, context)


def check_arguments(words: list[str]) -> None:
    """Parse the arguments of a command as `reassignd` does; nothing runs."""
    context = click.Context(cli.cli, **cli.cli.context_settings)
    command: click.Command = cli.cli
    while isinstance(command, click.Group):
        name, found, words = command.resolve_command(context, words)
        assert found is not None
        given = [] if isinstance(found, click.Group) else list(words)
        context = found.make_context(name, given, context, resilient_parsing=not given)
        command = found


def test_every_command_has_examples_with_valid_arguments() -> None:
    for command in commands_below(cli.cli):
        lines = (command.epilog or "").replace("\\\n", "").splitlines()
        examples = [line.strip() for line in lines if line.startswith("  reassignd ")]
        assert examples, command.name
        for line in examples:
            words = shlex.split(re.split(r" (?:>|&&) ", line)[0])[1:]
            if "COMMAND" not in words:
                check_arguments(words)


def test_the_zookeeper_connection_is_configured_by_an_option_or_a_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, line = run_failing(capsys, "zk", "show")
    assert (code, line) == (
        2,
        "reassignd: give --zookeeper, or --config with a file that has zookeeper.connect",
    )
    file = tmp_path / "reassignd.config.properties"
    file.write_text("zookeeper.jaas.file=no/such")
    code, line = run_failing(capsys, "zk", "show", "--config", str(file))
    assert (code, line) == (
        2,
        "reassignd: zookeeper.jaas.file: cannot read no/such: No such file or directory",
    )


def test_without_arguments_it_prints_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    assert capsys.readouterr().out.startswith("Usage: reassignd [OPTIONS]")


@pytest.mark.parametrize(
    ("verb", "hint"),
    [("exectue", "did you mean execute?"), ("qqqq", "`reassignd --help` lists the commands")],
)
def test_an_unknown_command_is_named_with_a_similar_one(
    verb: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([verb]) == 2
    assert capsys.readouterr().err == f"reassignd: there is no command '{verb}'; {hint}\n"


def test_an_error_may_name_the_wrong_entries_of_a_plan() -> None:
    assert list(CommandError("2 entries are wrong", ["a", "b"]).faults) == ["a", "b"]
    assert not UnreachableError("nobody answers").faults
