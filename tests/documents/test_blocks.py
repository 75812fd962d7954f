import pytest

from tests.documents.blocks import Command, blocks_of
from tests.documents.form import differences

SCRIPT = """\
```sh
# a comment
echo one \\
  two
python3 - <<'END'
print(1)

END
```
"""

SESSION = """\
  ```console
  $ echo one
  one
  $ cat <<END > file
  text
  END
  $ cat file
  text
  ```
"""


def test_lines_of_a_script_that_belong_together_are_one_command() -> None:
    (block,) = blocks_of("page", SCRIPT)
    assert [each.text.splitlines()[0] for each in block.commands] == [
        "# a comment",
        "echo one \\",
        "python3 - <<'END'",
    ]
    assert block.commands[1].text == "echo one \\\n  two"


def test_lines_after_a_command_of_a_session_are_its_output() -> None:
    (block,) = blocks_of("page", "text\n" + SESSION)
    assert block.line == 2
    assert block.commands == [
        Command("echo one", ["one"]),
        Command("cat <<END > file\ntext\nEND", []),
        Command("cat file", ["text"]),
    ]


def test_other_blocks_are_not_commands() -> None:
    assert list(blocks_of("page", "```json\n{}\n```\n```\n$ echo one\n```\n")) == []


@pytest.mark.parametrize(
    ("documented", "printed"),
    [
        ("Job 1: 24 partitions accepted.", "Job 7: 2,400 partitions accepted."),
        ("copied 9.83 MiB/s, 31 s left", "copied 512 B/s, 1 h left"),
        ("#####............... by Local:ann", "##########.......... by Local:root"),
        ("Spark     not found", "Spark     ready for jobs"),
        ("events-0,events-1, ...", "events-0,events-1,events-2"),
        ('{"kind": "brokers", "http": "…"}', '{"kind": "brokers", "http": "http://127.0.0.1:1"}'),
        ("...\nthe end", "one\ntwo\nthe end"),
        ("NAME   LIMIT\nP  1\nR  none", "NAME  LIMIT\nB  1"),
        ("job 3: 0 of 22 done\nJob 3 is done", "Job 3 is done"),
    ],
)
def test_output_of_the_same_form_is_accepted(documented: str, printed: str) -> None:
    assert differences(Command("", documented.splitlines()), printed) == []


@pytest.mark.parametrize(
    ("documented", "printed"),
    [
        ("Job 1: 24 partitions accepted.", "Job 1: 24 partitions refused."),
        ("one\ntwo", "two\none"),
        ("Job 3 is done", ""),
        ("NAME   LIMIT\nP  1", "NAME  VALUE\nP  1"),
        ("NAME   LIMIT\nP  1", "NAME  LIMIT"),
    ],
)
def test_output_of_another_form_is_noticed(documented: str, printed: str) -> None:
    assert differences(Command("", documented.splitlines()), printed) != []
