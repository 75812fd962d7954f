import hashlib
import json
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from reassignd import __version__
from tools import dist
from tools.readme_hook import without_relative_links

TIME = 1_790_000_000


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A repository of one commit, whose version is 1.2.0."""
    chart = tmp_path / "deploy/helm/reassignd/Chart.yaml"
    chart.parent.mkdir(parents=True)
    chart.write_text("name: reassignd\nversion: 1.2.0\nappVersion: 1.2.0\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## 1.2.0\n\n## 1.1.0\n")
    git(tmp_path, "init", "--quiet")
    git(
        tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "A"
    )
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True)


def test_a_commit_without_a_tag_is_no_release(release: Path) -> None:
    assert dist.check_version(release, "1.2.0") == (
        "reassignd 1.2.0, not a release until this commit has the tag v1.2.0"
    )


def test_a_commit_with_the_tag_of_its_version_is_a_release(release: Path) -> None:
    git(release, "tag", "v1.2.0")
    assert dist.check_version(release, "1.2.0") == "reassignd 1.2.0, tagged"


def test_the_tag_of_another_version_is_refused(release: Path) -> None:
    git(release, "tag", "v1.3.0")
    with pytest.raises(SystemExit, match=r"the tag of this commit is v1\.3\.0"):
        dist.check_version(release, "1.2.0")


def test_the_chart_and_the_changelog_must_have_the_version(release: Path) -> None:
    with pytest.raises(
        SystemExit, match=r"appVersion is 1\.2\.0; the newest section of CHANGELOG\.md is 1\.2\.0"
    ):
        dist.check_version(release, "1.3.0")


def test_the_version_of_this_commit_agrees_everywhere() -> None:
    assert dist.check_version().startswith(f"reassignd {__version__}, ")


in_git = pytest.mark.skipif(not dist.tracked(dist.ROOT), reason="this is not a clone of the repository")


def test_pinned_packages_have_their_version_and_hashes() -> None:
    text = "anyio==4.16.0 \\\n    --hash=sha256:" + "a" * 64 + " \\\n    --hash=sha256:" + "b" * 64 + "\n"
    text += "colorama==0.4.6 ; sys_platform == 'win32' \\\n    --hash=sha256:" + "c" * 64 + "\n"
    assert dist.pinned(text) == {
        "anyio": ("4.16.0", ["a" * 64, "b" * 64]),
        "colorama": ("0.4.6", ["c" * 64]),
    }


def test_all_dependencies_at_run_time_are_found() -> None:
    found = dist.pinned(dist.REQUIREMENTS.read_text("utf-8"))
    assert {"click", "msgspec", "uvloop", "kazoo"} <= found.keys()
    assert all(hashes for _, hashes in found.values())


def test_the_chart_is_packed_with_the_same_bytes_each_time(tmp_path: Path) -> None:
    first = dist.chart(tmp_path, TIME).read_bytes()
    path = dist.chart(tmp_path, TIME)
    assert path.read_bytes() == first
    with tarfile.open(path) as archive:
        names = archive.getnames()
        assert "reassignd/Chart.yaml" in names
        assert "reassignd/templates/workload.yaml" in names
        assert {entry.mtime for entry in archive.getmembers()} == {TIME}


def test_the_components_are_a_cyclonedx_document(tmp_path: Path) -> None:
    path = dist.components(tmp_path, TIME)
    text = path.read_text("utf-8")
    document = json.loads(text)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert document["metadata"]["component"]["version"] == __version__
    scopes = {each["name"]: each["scope"] for each in document["components"]}
    assert (scopes["kazoo"], scopes["pure-sasl"]) == ("required", "optional")
    assert "hatchling" not in scopes
    own = f"pkg:pypi/reassignd@{__version__}"
    [needs] = [each["dependsOn"] for each in document["dependencies"] if each["ref"] == own]
    assert len(needs) == len(document["components"])
    assert dist.components(tmp_path, TIME).read_text("utf-8") == text


def test_checksums_are_those_of_sha256sum(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"a")
    assert dist.checksums(tmp_path).read_text() == f"{hashlib.sha256(b'a').hexdigest()}  a.whl\n"
    assert len(dist.checksums(tmp_path).read_text().splitlines()) == 1


@pytest.mark.whole
def test_the_packages_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    sums = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        dist.packages(folder, TIME)
        sums.append(dist.checksums(folder).read_text())
    assert sums[0] == sums[1]
    with zipfile.ZipFile(next((tmp_path / "first").glob("*.whl"))) as wheel:
        assert len({entry.date_time for entry in wheel.infolist()}) == 1


@in_git
@pytest.mark.whole
def test_only_tracked_files_are_in_the_source_distribution(tmp_path: Path) -> None:
    source = tmp_path / "source"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", dist.ROOT.as_uri(), source], check=True)
    (source / "junk.txt").touch()
    (source / "server" / "junk.py").touch()
    dist.packages(tmp_path, TIME, source)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    files = {path.relative_to(source).as_posix() for path in dist.tracked(source)}
    assert packed <= files | {"PKG-INFO"}
    assert packed >= {"README.md", "Makefile", "server/__init__.py"}


@in_git
def test_plans_in_the_checkout_are_ignored() -> None:
    ignored = ["git", "check-ignore", "plan.json", "clicks.json", "deploy/grafana/reassignd.json"]
    printed = subprocess.run(ignored, cwd=dist.ROOT, capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["plan.json", "clicks.json"]


def test_without_a_builder_of_images_one_line_tells_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="buildah or podman is needed"):
        dist.image(tmp_path, TIME, "base")


def test_a_failed_build_of_the_image_is_one_line_and_keeps_the_checksums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, builder = tmp_path / "dist", tmp_path / "buildah"
    builder.write_text("#!/bin/sh\nexit 125\n")
    builder.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(
        dist, "packages", lambda to, _: (to / f"reassignd-{__version__}-any.whl").write_bytes(b"")
    )
    with pytest.raises(SystemExit, match=r"its base none:1 cannot be pulled, give another one: --base IMAGE"):
        dist.main(["--folder", str(folder), "--image", "--base", "none:1"])
    named = [line.split()[1] for line in (folder / "SHA256SUMS").read_text().splitlines()]
    assert named == sorted(each.name for each in folder.iterdir() if each.name != "SHA256SUMS")


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
