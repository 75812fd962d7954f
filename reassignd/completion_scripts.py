"""The scripts of shells that complete commands: those of click, but no blank follows what ends with `=`.

A value follows, such as `throttle=50MB`. fish knows that by itself.
"""

from typing import ClassVar

from click.shell_completion import BashComplete, ZshComplete, add_completion_class


class Bash(BashComplete):
    """The script of bash."""

    source_template: ClassVar[str] = BashComplete.source_template.replace(
        "    return 0\n",
        "    [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *= ]] && compopt -o nospace\n    return 0\n",
    )


class Zsh(ZshComplete):
    """The script of zsh. What is completed together ends with `=` in all cases, or in none."""

    source_template: ClassVar[str] = (
        ZshComplete.source_template.replace(
            "    if [ -n", "    local -a suffix\n    [[ $key == *= ]] && suffix=(-S '')\n    if [ -n", 1
        )
        .replace("completions_with_descriptions -U", 'completions_with_descriptions -U "${suffix[@]}"')
        .replace("compadd -U", 'compadd "${suffix[@]}" -U')
    )


def use_own_scripts() -> None:
    """Let click use these scripts."""
    add_completion_class(Bash)
    add_completion_class(Zsh)
