"""A receiver of OTLP by HTTP: it decodes what is sent, and keeps it."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

service = pytest.importorskip(
    "opentelemetry.proto.collector.trace.v1.trace_service_pb2",
    reason="OpenTelemetry is not installed (requirements/test.txt)",
)


class Receiver:
    """What was received; `endpoint` is the value for OTEL_EXPORTER_OTLP_ENDPOINT."""

    def __init__(self, port: int) -> None:
        self.endpoint = f"http://127.0.0.1:{port}"
        self.spans: list[Any] = []
        self.services: set[str] = set()

    def take(self, body: bytes) -> None:
        for resource in service.ExportTraceServiceRequest.FromString(body).resource_spans:
            self.services.add(attributes(resource.resource)["service.name"])
            for scope in resource.scope_spans:
                self.spans.extend(scope.spans)

    def named(self, name: str) -> list[Any]:
        return [span for span in self.spans if span.name == name]


def attributes(holder: Any) -> dict[str, Any]:
    """Return the attributes of a span or a resource; lists as tuples."""
    return {each.key: _value(each.value) for each in holder.attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    found = getattr(value, kind)
    return tuple(_value(each) for each in found.values) if kind == "array_value" else found


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Receive until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.take(gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver = Receiver(server.server_port)
        Thread(target=server.serve_forever, daemon=True).start()
        yield receiver
        server.shutdown()
