"""Build what is released: `make dist`, or `python -m tools.dist [--image] [--spark] [--strimzi]`.

The wheel, the source distribution, the Helm chart, a list of the components (CycloneDX), and SHA256SUMS of
all of them. The same commit gives the same bytes: all times are those of the commit, or SOURCE_DATE_EPOCH.
`--image` also builds the container image with buildah or podman, into an archive that they and Docker load,
`--spark` the image with Spark, and `--strimzi` the one for Strimzi's pod of Cruise Control.

The version is that of `reassignd/config/version.py`. It must also be that of the chart and of the newest
section of CHANGELOG.md, and a commit with tags for versions must have the tag `v` and this version.
"""

import argparse
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import uuid
from datetime import UTC, datetime
from pathlib import Path

from reassignd import __version__

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "deploy" / "helm" / "reassignd"
CONTAINER = ROOT / "deploy" / "container"
STRIMZI = ROOT / "deploy" / "strimzi"
REQUIREMENTS = ROOT / "requirements" / "run.txt"
IMAGE_REQUIREMENTS = {
    "slim": ROOT / "requirements" / "image.txt",
    "spark": ROOT / "requirements" / "image-spark.txt",
    "strimzi": ROOT / "requirements" / "image-strimzi.txt",
}
"""What is in the image, by target of the Containerfile."""
BASE = "python:3.13-slim"

_PINNED = re.compile(r"^([\w.-]+)==([^\s;\\]+)(?:\s*;\s*([^\\]+?))?\s*\\?$")
_SECTION = re.compile(r"^## (\S+)$", re.MULTILINE)
_CHART_VERSION = re.compile(r"^(version|appVersion): (\S+)$", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def epoch() -> int:
    """Return the time of all files: SOURCE_DATE_EPOCH, or that of the commit, in seconds since 1970."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    git = ["git", "log", "-1", "--format=%ct"]
    return int(subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


def check_version(root: Path = ROOT, version: str = __version__) -> str:
    """Return whether this commit is tagged as the version, for people.

    Raises SystemExit where versions disagree.
    """
    text = (root / "deploy/helm/reassignd/Chart.yaml").read_text("utf-8")
    stated = {f"the chart's {name}": each for name, each in _CHART_VERSION.findall(text)}
    sections = _SECTION.findall((root / "CHANGELOG.md").read_text("utf-8"))
    stated["the newest section of CHANGELOG.md"] = sections[0] if sections else "none"
    tags = _version_tags(root)
    if tags and f"v{version}" not in tags:
        stated["the tag of this commit"] = ", ".join(tags)
    wrong = [f"{name} is {each}" for name, each in stated.items() if each != version]
    if wrong:
        raise SystemExit(
            f"tools.dist: reassignd/config/version.py has the version {version}, but {'; '.join(wrong)}"
        )
    tagged = "tagged" if tags else f"not a release until this commit has the tag v{version}"
    return f"reassignd {version}, {tagged}"


def _version_tags(root: Path) -> list[str]:
    git = shutil.which("git")
    if git is None:
        return []
    listing = [git, "tag", "--points-at", "HEAD", "--list", "v[0-9]*"]
    return subprocess.run(listing, cwd=root, capture_output=True, text=True, check=False).stdout.split()


def tracked(folder: Path) -> list[Path]:
    """Return the files of the folder that git tracks, sorted.

    The result is None where there is no git, or no repository of them.
    """
    git = shutil.which("git")
    if git is None:
        return []
    listed = subprocess.run([git, "ls-files", "-z"], cwd=folder, capture_output=True, text=True, check=False)
    paths = [folder / name for name in listed.stdout.split("\0") if name]
    return sorted(path for path in paths if path.is_file())


def packages(folder: Path, time: int, root: Path = ROOT) -> None:
    """Build the wheel and the source distribution. hatchling takes times from SOURCE_DATE_EPOCH.

    They are built from a copy of the tracked files, so that nothing else is in them.
    """
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(folder.absolute())]
    build += ["-t", "sdist", "-t", "wheel"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(time)}
    with tempfile.TemporaryDirectory(prefix="reassignd-dist-") as scratch:
        files = tracked(root)
        for source in files:
            copy = Path(scratch) / source.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
        place = scratch if files else root
        subprocess.run(build, cwd=place, env=environment, check=True, capture_output=True)


def chart(folder: Path, time: int) -> Path:
    """Pack the Helm chart, as `helm package` does, but with sorted names and without the present time."""
    path = folder / f"reassignd-chart-{__version__}.tgz"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for source in tracked(CHART) or sorted(each for each in CHART.rglob("*") if each.is_file()):
            entry = tarfile.TarInfo(f"reassignd/{source.relative_to(CHART).as_posix()}")
            entry.size, entry.mtime, entry.mode = source.stat().st_size, time, 0o644
            with source.open("rb") as content:
                archive.addfile(entry, content)
    path.write_bytes(gzip.compress(buffer.getvalue(), mtime=time))
    return path


def pinned(text: str) -> dict[str, tuple[str, list[str]]]:
    """Return the version and the SHA-256 hashes of each package of a requirements file with hashes."""
    found: dict[str, tuple[str, list[str]]] = {}
    name = ""
    for line in text.splitlines():
        match = _PINNED.match(line)
        if match:
            name = match[1]
            found[name] = match[2], []
        elif name:
            found[name][1].extend(_HASH.findall(line))
    return found


def components(folder: Path, time: int) -> Path:
    """Write the software bill of materials (CycloneDX 1.6, JSON): reassignd and what it uses at run time.

    Packages of extras are optional. Those of `propose` and `spark`, which the image lacks, are not listed.
    """
    from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentScope, ComponentType
    from cyclonedx.output.json import JsonV1Dot6
    from packageurl import PackageURL

    def component(name: str, version: str, kind: ComponentType = ComponentType.LIBRARY) -> Component:
        url = PackageURL("pypi", None, name, version)
        return Component(name=name, version=version, type=kind, purl=url, bom_ref=url.to_string())

    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"reassignd-{__version__}-{time}"))
    bom.metadata.timestamp = datetime.fromtimestamp(time, UTC)
    bom.metadata.component = own = component("reassignd", __version__, ComponentType.APPLICATION)
    needed = []
    base = pinned(REQUIREMENTS.read_text("utf-8"))
    for name, (version, hashes) in pinned(IMAGE_REQUIREMENTS["slim"].read_text("utf-8")).items():
        each = component(name, version)
        each.scope = ComponentScope.REQUIRED if name in base else ComponentScope.OPTIONAL
        files = [HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in hashes]
        place = XsUri(f"pkg:pypi/{name}@{version}")
        reference = ExternalReference(type=ExternalReferenceType.DISTRIBUTION, url=place, hashes=files)
        each.external_references.add(reference)
        bom.components.add(each)
        needed.append(each)
    bom.register_dependency(own, needed)
    path = folder / f"reassignd-{__version__}.cdx.json"
    path.write_text(JsonV1Dot6(bom).output_as_string(indent=2) + "\n", "utf-8")
    return path


def image(folder: Path, time: int, base: str, target: str = "slim", *, offline: bool = False) -> Path:
    """Build the image into an archive that `podman load` and `docker load` read.

    With `offline` the wheels of the dependencies are fetched before the build, by this Python: that of the
    base must have the same version.
    """
    program = shutil.which("buildah") or shutil.which("podman")
    if program is None:
        raise SystemExit(
            "tools.dist: buildah or podman is needed for --image (Debian: apt-get install buildah)"
        )
    tag = __version__ if target == "slim" else f"{__version__}-{target}"
    path = folder / f"reassignd-image-{tag}.tar"
    path.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="reassignd-image-") as scratch:
        context = Path(scratch)
        _fill(context, folder, IMAGE_REQUIREMENTS[target], offline=offline)
        arguments = [
            f"BASE={base}",
            f"VERSION={__version__}",
            f"REQUIREMENTS={IMAGE_REQUIREMENTS[target].name}",
        ]
        arguments += ["OFFLINE=yes"] if offline else []
        build = [program, "bud" if program.endswith("buildah") else "build", "--timestamp", str(time)]
        build += ["--format", "docker", "--target", target]
        build += [part for argument in arguments for part in ("--build-arg", argument)]
        done = subprocess.run([*build, "--tag", f"reassignd:{tag}", str(context)], check=False)
        if done.returncode != 0:
            raise SystemExit(
                f"tools.dist: the image could not be built. If its base {base} cannot be pulled,"
                " give another one:"
                " --base IMAGE, see docs/install.md"
            )
    subprocess.run([program, "push", "--quiet", f"reassignd:{tag}", f"docker-archive:{path}"], check=True)
    return path


def _fill(context: Path, folder: Path, requirements: Path, *, offline: bool) -> None:
    """Copy what the build needs into its context.

    Our files and wheel, and with `offline` the dependencies' wheels.
    """
    for source in (*CONTAINER.iterdir(), requirements):
        shutil.copy(source, context)
    shutil.copytree(STRIMZI, context / "strimzi", ignore=shutil.ignore_patterns("__pycache__"))
    wheels = context / "wheels"
    wheels.mkdir()
    [wheel] = folder.glob(f"reassignd-{__version__}-*.whl")
    shutil.copy(wheel, wheels)
    if offline:
        _pip("wheel", "--wheel-dir", str(wheels), "--no-deps", "--require-hashes", "-r", str(requirements))


def _pip(*arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments], check=True
    )


def checksums(folder: Path) -> Path:
    """Write SHA256SUMS of all files of the folder, in the format of sha256sum(1)."""
    path = folder / "SHA256SUMS"
    files = sorted(each for each in folder.iterdir() if each.is_file() and each != path)
    lines = [f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n" for each in files]
    path.write_text("".join(lines), "utf-8")
    return path


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tools.dist", description="Build what is released.")
    parser.add_argument("--folder", type=Path, default=ROOT / "dist", help="where the files go")
    parser.add_argument("--image", action="store_true", help="build the container image too")
    parser.add_argument("--spark", action="store_true", help="build the image with Spark too")
    parser.add_argument("--strimzi", action="store_true", help="build the image for Strimzi too")
    parser.add_argument("--base", default=BASE, help=f"base image with Python 3.11 or later (default {BASE})")
    parser.add_argument(
        "--offline", action="store_true", help="fetch the wheels of the image before its build"
    )
    given = parser.parse_args(arguments)
    print(check_version())
    folder, time = given.folder, epoch()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    packages(folder, time)
    chart(folder, time)
    components(folder, time)
    checksums(folder)  # Also of what is there if an image cannot be built.
    wanted = {"slim": given.image, "spark": given.spark, "strimzi": given.strimzi}
    for target in (name for name, is_wanted in wanted.items() if is_wanted):
        image(folder, time, given.base, target, offline=given.offline)
    checksums(folder)
    for path in sorted(folder.iterdir()):
        print(f"{path.stat().st_size:>12,}  {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
