import re
from pathlib import Path

from reassignd import __version__
from tools.readme_hook import without_relative_links

ROOT = Path(__file__).parents[2]


def test_a_link_to_a_file_becomes_its_text_and_path() -> None:
    text = "See [the guide](docs/guide.md#limits), [changes](CHANGELOG.md)."
    assert without_relative_links(text) == "See the guide (`docs/guide.md`), changes (`CHANGELOG.md`)."


def test_links_to_other_sites_stay() -> None:
    text = "[KIP-236](https://cwiki.apache.org/x), [above](#try-it)"
    assert without_relative_links(text) == text


def test_a_local_image_is_left_out() -> None:
    assert without_relative_links("a\n![screen](docs/page.png)\nb\n") == "a\nb\n"


def test_the_description_has_no_relative_link() -> None:
    text = without_relative_links((ROOT / "README.md").read_text("utf-8"))
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert [target for target in targets if not target.startswith(("https:", "#"))] == []


def test_the_changelog_has_a_section_for_the_version() -> None:
    assert f"\n## {__version__}\n" in (ROOT / "CHANGELOG.md").read_text("utf-8")
