"""Runs the blocks of one page of the documents."""

from tests.documents.blocks import Block, blocks
from tests.documents.cases import BEFORE_BLOCK, NOT_RUN, find
from tests.documents.form import differences
from tests.documents.shell import Shell

BLOCKS = list(blocks())
RUN = [each for each in BLOCKS if find(each, NOT_RUN) is None]


def run_page(shell: Shell, page: str, before: str) -> None:
    """Run the commands `before`, then the blocks of the page in their order."""
    prepare(shell, before)
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
