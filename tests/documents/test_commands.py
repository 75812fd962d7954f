"""The commands of the documents run as they are written, and print what the documents show."""

from pathlib import Path

import pytest

from tests.documents.cases import BEFORE, BEFORE_BLOCK, KAFKA_PAGES, NOT_RUN, SERVER, find
from tests.documents.page import BLOCKS, RUN, run_page
from tests.documents.shell import Shell
from tools.java import JavaError, find_java

PAGES = sorted({each.page for each in RUN} - KAFKA_PAGES)


def test_blocks_that_are_not_run_have_a_reason_and_exist() -> None:
    assert {find(each, NOT_RUN) for each in BLOCKS} - {None} == set(NOT_RUN)
    assert len(BLOCKS) - len(RUN) == len(NOT_RUN)


def test_preparations_belong_to_blocks_that_are_run() -> None:
    assert {find(each, BEFORE_BLOCK) for each in RUN} - {None} == set(BEFORE_BLOCK)
    assert set(BEFORE) <= {each.page for each in RUN}


@pytest.mark.whole
@pytest.mark.timeout(900)  # up to 25 programs one after the other, some with a JVM
@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_document_run(page: str, tmp_path: Path) -> None:
    try:
        find_java()
    except JavaError as error:
        pytest.skip(str(error))
    before = BEFORE.get(page, SERVER)
    with Shell(tmp_path, before.settings) as shell:
        run_page(shell, page, before.commands)
