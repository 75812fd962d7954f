"""The setting `traces.exporter`: off it imports nothing, on it sends the trace of a job."""

import subprocess
import sys

import pytest

from reassignd.config.errors import ConfigError
from reassignd.config.sources import Assignment, resolve
from reassignd.embedded import EmbeddedCluster
from reassignd.tracing.setting import check_traces, open_traces
from tests.reassignd.test_embedded import QUICK, idle, move

ON = {"traces.exporter": "otlp"}


def test_without_their_settings_traces_logins_and_instances_import_no_library() -> None:
    program = (
        "import sys, reassignd.cli, reassignd.serve, reassignd.runtime.data_dir, reassignd.runtime.gateway,"
        " reassignd.embedded; print(*{'opentelemetry', 'scramp', 'asn1crypto', 'jwt', 'httpx', 'kazoo'}"
        ".intersection(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout == "\n"
    assert open_traces(resolve([])) is None


@pytest.mark.parametrize("missing", ["sdk.resources", "exporter.otlp.proto.http.trace_exporter"])
def test_without_the_packages_the_extra_is_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = resolve(Assignment(key, value, "test") for key, value in ON.items())
    monkeypatch.setitem(sys.modules, f"opentelemetry.{missing}", None)
    monkeypatch.delitem(sys.modules, "reassignd.tracing.job_spans", raising=False)
    with pytest.raises(ConfigError, match=r"pip install 'WHEEL\[otel\]'"):
        check_traces(settings)


async def test_a_receiver_gets_the_trace_of_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.reassignd.tracing.receiver import attributes, receiving

    with receiving() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint)
        async with EmbeddedCluster(3, settings={**QUICK, **ON}) as cluster:
            await cluster.create_topic("orders", [[1, 2]])
            await cluster.submit(move("orders", (3, 2)))
            await idle(cluster)
        [job], [step] = receiver.named("reassignment job"), receiver.named("reassignment step")
    assert receiver.services == {"reassignd"}
    assert (step.trace_id, step.parent_span_id) == (job.trace_id, job.span_id)
    assert job.start_time_unix_nano <= step.start_time_unix_nano <= step.end_time_unix_nano
    assert attributes(job)["reassignd.job.done"] == 1
    assert attributes(step)["reassignd.replicas.to"] == (3, 2)
    assert attributes(step)["reassignd.bytes"] == int(QUICK["embedded.partition.bytes"])
