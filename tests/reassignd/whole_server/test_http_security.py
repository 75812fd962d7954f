"""The ways to reach `/v1`: a unix socket, a token, certificates."""

import json
import stat
from pathlib import Path

import httpx
import pytest

from reassignd import cli
from reassignd.config.setting_types import WILDCARDS
from tests.reassignd.served import STOP_SECONDS, Served, Start

pytestmark = pytest.mark.whole

TLS = Path(__file__).parents[2] / "reassignd" / "tls"
ANYWHERE = WILDCARDS[0]
CA = ["--ca-file", str(TLS / "ca.pem")]


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("s3cret\n")
    path.chmod(0o600)
    return path


def url_of(served: Served) -> str:
    return served.line.partition(", http ")[2].partition(",")[0]


def status(capsys: pytest.CaptureFixture[str], url: str, *options: str) -> int:
    """The number of brokers. Fails with the command's output if the command fails."""
    code = cli.main(["status", "--format", "json", "--url", url, *options])
    out, err = capsys.readouterr()
    assert code == 0, err
    live: int = json.loads(out)["brokers"]["live"]
    return live


def complaint(capsys: pytest.CaptureFixture[str], url: str, *options: str) -> str:
    assert cli.main(["status", "--url", url, *options]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err.strip()


def test_a_unix_socket_belongs_to_its_owner_and_is_removed_at_the_end(
    start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "http.sock"
    served = start(http=f"unix:{path}")
    assert url_of(served) == f"unix:{path}"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert status(capsys, f"unix:{path}") == 2
    served.process.kill()
    served.process.communicate()
    assert path.exists()
    again = start(http=f"unix:{path}")
    assert status(capsys, f"unix:{path}") == 2
    again.process.terminate()
    again.process.communicate(timeout=STOP_SECONDS)
    assert not path.exists()


def test_a_unix_socket_in_use_is_reported(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "http.sock"
    start(http=f"unix:{path}")
    other = Served(tmp_path / "other", http=f"unix:{path}")
    assert (
        other.complaint()
        == f"cannot listen on unix:{path}: it is in use; change `http.listener` (--http HOST:PORT)"
    )


def test_a_public_address_needs_a_token_or_certificates(start: Start) -> None:
    assert (
        start(http=f"{ANYWHERE}:0")
        .complaint(code=2)
        .startswith(f"http.listener is {ANYWHERE}:0, which others can reach")
    )


def test_requests_need_the_token(
    start: Start, token: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served = start("--override", f"http.token.file={token}", http=f"{ANYWHERE}:0")
    url = url_of(served).replace(ANYWHERE, "127.0.0.1")
    assert httpx.get(f"{url}/healthz").text == "ok\n"
    assert complaint(capsys, url).startswith("reassignd: not allowed: show a token")
    (tmp_path / "wrong").write_text("guess\n")
    assert "not allowed" in complaint(capsys, url, "--token-file", str(tmp_path / "wrong"))
    assert status(capsys, url, "--token-file", str(token)) == 2


def test_requests_need_a_certificate_of_the_authority(
    start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.json"
    files = {"certificate": "server.pem", "client.ca": "ca.pem"}
    overrides = [
        part for name, file in files.items() for part in ("--override", f"http.tls.{name}.file={TLS / file}")
    ]
    served = start(*overrides)
    url = url_of(served)
    assert url.startswith("https://127.0.0.1:")
    assert "certificate verify failed" in complaint(capsys, url)
    assert "not allowed: show a client certificate" in complaint(capsys, url, *CA)
    assert complaint(capsys, url, *CA, "--certificate-file", str(TLS / "eve.pem"))
    ann = [*CA, "--certificate-file", str(TLS / "ann.pem")]
    assert status(capsys, url, *ann) == 2
    served.create_topic("foo")
    plan.write_text('{"partitions": [{"topic": "foo", "partition": 0, "replicas": [1, 2]}]}')
    assert cli.main(["execute", "--reassignment-json-file", str(plan), "--url", url, *ann]) == 0
    capsys.readouterr()
    assert cli.main(["jobs", "--format", "json", "--url", url, *ann]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"][0]["principal"] == "User:CN=ann,O=ops"


def test_listed_certificates_have_roles(
    start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "access"
    path.write_text("ann viewer certificate CN=ann,O=ops\n")
    files = {
        "http.tls.certificate": TLS / "server.pem",
        "http.tls.client.ca": TLS / "ca.pem",
        "http.access": path,
    }
    served = start(*(part for name, file in files.items() for part in ("--override", f"{name}.file={file}")))
    ann = ["--url", url_of(served), *CA, "--certificate-file", str(TLS / "ann.pem")]
    assert cli.main(["pause", *ann]) == 1
    assert "POST /v1/pause needs the role operator" in capsys.readouterr().err
    path.write_text("ann operator certificate CN=ann, O=ops\n")
    assert cli.main(["pause", *ann]) == 0
