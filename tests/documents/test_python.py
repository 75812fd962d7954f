"""The tests that docs/embedded.md shows pass as they are, with the files that its commands make."""

import re
import subprocess
from collections.abc import Sequence

import pytest

from tests.documents.blocks import ROOT

pytestmark = pytest.mark.whole

pytest_plugins = ["pytester"]

TEXT = (ROOT / "docs" / "embedded.md").read_text("utf-8")
EXAMPLES = [
    code
    for code in re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    if "def test_" in code
]
INI = re.findall(r"^```ini\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
CERTIFICATE = re.findall(r"^```sh\n(openssl .*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


WITHOUT_STEPS = [code for code in EXAMPLES if "expect_moving" not in code]
"""Examples that do not need a step to last, so they can have small partitions."""


@pytest.mark.parametrize(
    ("ini", "examples"),
    [("[pytest]\n", EXAMPLES), *((ini, WITHOUT_STEPS) for ini in INI)],
    ids=["defaults", *("options" for _ in INI)],
)
def test_examples_of_tests_pass(
    ini: str, examples: Sequence[str], pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (pytester.path / "pytest.ini").write_text(ini, "utf-8")
    for number, code in enumerate(examples):
        (pytester.path / f"test_{number}.py").write_text(code, "utf-8")
    (commands,) = CERTIFICATE
    subprocess.run(["bash", "-ec", commands], cwd=pytester.path, check=True, capture_output=True)
    plugins = ("-p", "pytest_asyncio.plugin", "-p", "reassignd.testing.plugin")
    result = pytester.runpytest_subprocess(*plugins, timeout=150)
    result.assert_outcomes(passed=sum(code.count("def test_") for code in examples))
