"""Bring helm, kubeconform and the schemas of Kubernetes' objects: `python -m tools.kubernetes`.

All three are Go modules of pinned versions. The results are in `.cache/kubernetes`. If Go is not installed,
the tests of the chart are skipped, and one line on stderr says so.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tools.other_clients import LeftOutError

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "kubernetes"
HELM, KUBECONFORM, SCHEMAS = CACHE / "helm", CACHE / "kubeconform", CACHE / "schemas"

KUBERNETES = "1.34"
"""Version of Kubernetes that the chart is checked against."""

PROGRAMS = {
    HELM: "helm.sh/helm/v3/cmd/helm@v3.22.0",
    KUBECONFORM: "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0",
}
OPENAPI = f"k8s.io/kubernetes@v{KUBERNETES}.1"
"""The module whose OpenAPI document describes the objects."""

PREFIX = "#/definitions/"
EITHER = {"io.k8s.apimachinery.pkg.util.intstr.IntOrString": ["string", "integer"]}
"""Definitions that the document describes as a string only."""

NUMBER_OR_TEXT = {"io.k8s.apimachinery.pkg.api.resource.Quantity": ["string", "number"]}


def main() -> int:
    """Bring what is missing. Always returns 0, since the other tests run without it."""
    try:
        bring()
    except LeftOutError as reason:
        print(f"left out of the tests of the chart: helm and kubeconform ({reason})", file=sys.stderr)
    return 0


def bring() -> None:
    """Build the programs and write the schemas, unless they exist. Raises LeftOutError."""
    go = shutil.which("go", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/go/bin"]))
    if all(path.exists() for path in (*PROGRAMS, SCHEMAS)):
        return
    if go is None:
        raise LeftOutError("go is not installed")
    CACHE.mkdir(parents=True, exist_ok=True)
    for path, module in PROGRAMS.items():
        if not path.exists():
            _run([go, "install", module], {"GOBIN": str(CACHE)})
    if not SCHEMAS.exists():
        module = json.loads(_run([go, "mod", "download", "-json", OPENAPI], {"GOFLAGS": "-mod=mod"}))
        document = json.loads(
            (Path(module["Dir"]) / "api" / "openapi-spec" / "swagger.json").read_text("utf-8")
        )
        write_schemas(document["definitions"], SCHEMAS)


def write_schemas(definitions: dict[str, Any], folder: Path) -> None:
    """Write a JSON schema for each kind of object, `KIND-GROUP-VERSION.json`, and one of all definitions."""
    folder.mkdir(parents=True, exist_ok=True)
    shared = {name: strict(name, definition) for name, definition in definitions.items()}
    (folder / "_definitions.json").write_text(json.dumps({"definitions": shared}), "utf-8")
    for name, definition in definitions.items():
        for kind in definition.get("x-kubernetes-group-version-kind", ()):
            group = kind["group"].partition(".")[0]
            parts = [kind["kind"], *filter(None, [group]), kind["version"]]
            schema = {"$ref": f"_definitions.json{PREFIX}{name}"}
            (folder / f"{'-'.join(parts).lower()}.json").write_text(json.dumps(schema), "utf-8")


def strict(name: str, schema: Any) -> Any:
    """Return the schema with local references; objects with declared fields allow no others."""
    if name in EITHER or name in NUMBER_OR_TEXT:
        return {"type": EITHER.get(name) or NUMBER_OR_TEXT[name]}
    if isinstance(schema, list):
        return [strict("", each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: strict("", value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        result["additionalProperties"] = False
    return result


def _run(command: list[str], more: dict[str, str]) -> str:
    """Return the output. Raises LeftOutError with the last line of its errors if the command fails."""
    done = subprocess.run(
        command, env={**os.environ, **more}, capture_output=True, text=True, check=False, cwd=Path.home()
    )
    if done.returncode:
        last_line = (done.stderr or done.stdout).strip().rpartition("\n")[-1]
        raise LeftOutError(f"{' '.join(command[:2])}: {last_line}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
