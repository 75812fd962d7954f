"""The scripts of shells that complete commands."""

import subprocess
from pathlib import Path

import click
import pytest

from reassignd.completion_scripts import Bash, Zsh

COMMAND: tuple[click.Command, dict[str, object], str, str] = (
    click.Command("reassignd"),
    {},
    "reassignd",
    "_REASSIGND_COMPLETE",
)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (["throttle="], ["compopt -o nospace", "throttle="]),
        (["drain"], ["drain"]),
        (["P=", "pace="], ["P= pace="]),
    ],
)
def test_bash_adds_no_blank_after_an_equals_sign(found: list[str], said: list[str], tmp_path: Path) -> None:
    program = tmp_path / "reassignd"
    program.write_text("#!/bin/sh\n" + "".join(f"echo plain,{each}\n" for each in found))
    program.chmod(0o755)
    script = (
        f"{Bash(*COMMAND).source()}"
        'compopt() { echo compopt "$@"; }\n'
        f'_reassignd_completion {program}\necho "${{COMPREPLY[*]}}"\n'
    )
    shown = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines() == said


def test_zsh_adds_no_blank_after_an_equals_sign() -> None:
    lines = [line.strip() for line in Zsh(*COMMAND).source().splitlines()]
    assert "[[ $key == *= ]] && suffix=(-S '')" in lines
    assert '_describe -V unsorted completions_with_descriptions -U "${suffix[@]}"' in lines
    assert 'compadd "${suffix[@]}" -U -V unsorted -a completions' in lines
