from tests.documents.blocks import Command, blocks_of

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
