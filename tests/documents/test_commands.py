"""The commands of the documents run as they are written, and print what the documents show."""

from pathlib import Path

import pytest

from tests.documents.blocks import Block, blocks
from tests.documents.cases import BEFORE, BEFORE_BLOCK, NOT_RUN, SERVER, find
from tests.documents.form import differences
from tests.documents.shell import Shell
from tools.java import JavaError, find_java

BLOCKS = list(blocks())
RUN = [each for each in BLOCKS if find(each, NOT_RUN) is None]


def test_blocks_that_are_not_run_have_a_reason_and_exist() -> None:
    assert {find(each, NOT_RUN) for each in BLOCKS} - {None} == set(NOT_RUN)
    assert len(BLOCKS) - len(RUN) == len(NOT_RUN)


def test_preparations_belong_to_blocks_that_are_run() -> None:
    assert {find(each, BEFORE_BLOCK) for each in RUN} - {None} == set(BEFORE_BLOCK)
    assert set(BEFORE) <= {each.page for each in RUN}


@pytest.mark.whole
@pytest.mark.timeout(900)  # up to 25 programs one after the other, some with a JVM
@pytest.mark.parametrize("page", sorted({each.page for each in RUN}))
def test_commands_of_a_document_run(page: str, tmp_path: Path) -> None:
    try:
        find_java()
    except JavaError as error:
        pytest.skip(str(error))
    before = BEFORE.get(page, SERVER)
    with Shell(tmp_path, before.settings) as shell:
        prepare(shell, before.commands)
        for block in RUN:
            if block.page == page:
                run(shell, block)


def run(shell: Shell, block: Block) -> None:
    prepared = find(block, BEFORE_BLOCK)
    if prepared is not None:
        prepare(shell, BEFORE_BLOCK[prepared])
    for command in block.commands:
        result = shell.run(command.text)
        where = f"{block.page}.md, block at line {block.line}: {command.text}\n{result.printed}"
        missing = differences(command, result.printed)
        assert not missing, f"{where}\nnot printed: {missing}"
        assert result.status == 0 or command.output, f"{where}\nexit code {result.status}"


def prepare(shell: Shell, commands: str) -> None:
    prepared = shell.run(commands)
    assert prepared.status == 0, prepared
