"""A Prometheus on a real socket, which scrapes texts of exporters and answers the queries that are asked."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from statistics import mean
from urllib.parse import parse_qs, urlsplit

from prometheus_client.parser import text_string_to_metric_families

Key = tuple[str, tuple[tuple[str, str], ...]]

RATE = re.compile(r'rate\((\w+)\{topic!=""\}\[5m\]\)')
AVERAGE = re.compile(r'avg_over_time\((\w+)(?:\{name="(\w+)",topic!=""\})?\[5m\]\)')
IDLE = re.compile(r'1 - avg without \(cpu, mode\) \(rate\((\w+)\{mode="idle"\}\[5m\]\)\)')
NAMES = re.compile(r'count by \(__name__\) \(\{__name__=~"([^"]+)"\}\)')

SCRAPE_SECONDS = 60.0

STRIMZI = """
# HELP kafka_server_brokertopicmetrics_bytesout_total Attribute exposed for management
# TYPE kafka_server_brokertopicmetrics_bytesout_total counter
kafka_server_brokertopicmetrics_bytesout_total {total}
kafka_server_brokertopicmetrics_bytesout_total{{topic="hot",}} {out}
# TYPE kafka_server_brokertopicmetrics_bytesin_total counter
kafka_server_brokertopicmetrics_bytesin_total {total}
kafka_server_brokertopicmetrics_bytesin_total{{topic="hot",}} {in_}
"""
MSK = """
# TYPE kafka_server_BrokerTopicMetrics_OneMinuteRate untyped
kafka_server_BrokerTopicMetrics_OneMinuteRate{{name="BytesOutPerSec",topic="",}} {out_rate}
kafka_server_BrokerTopicMetrics_OneMinuteRate{{name="BytesOutPerSec",topic="hot",}} {out_rate}
kafka_server_BrokerTopicMetrics_OneMinuteRate{{name="BytesInPerSec",topic="hot",}} {in_rate}
# TYPE java_lang_OperatingSystem_CpuLoad gauge
java_lang_OperatingSystem_CpuLoad 0.25
"""
LOWERCASE = """
# TYPE kafka_server_brokertopicmetrics_oneminuterate untyped
kafka_server_brokertopicmetrics_oneminuterate{{name="BytesOutPerSec",topic="hot",}} {out_rate}
kafka_server_brokertopicmetrics_oneminuterate{{name="BytesInPerSec",topic="hot",}} {in_rate}
"""
CONFLUENT = """
# TYPE kafka_server_brokertopicmetrics_bytesoutpersec untyped
kafka_server_brokertopicmetrics_bytesoutpersec{{topic="hot",}} {out}
kafka_server_brokertopicmetrics_bytesinpersec{{topic="hot",}} {in_}
"""
NODE = """
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{{cpu="0",mode="idle"}} {idle}
node_cpu_seconds_total{{cpu="0",mode="user"}} 99
node_cpu_seconds_total{{cpu="1",mode="idle"}} {idle}
"""


class FakePrometheus:
    """What was scraped. `broken` is sent in place of each answer."""

    def __init__(self) -> None:
        self.url, self.now = "", 1_000.0
        self.scraped: dict[Key, list[float]] = {}
        self.broken: bytes | None = None
        self.queries: list[str] = []
        self.status, self.logins = b"200 OK", set[str | None]()
        """Of the answers, and what the requests had as `authorization`."""

    def scrape(self, labels: Mapping[str, str], text: str, bytes_out: float, bytes_in: float) -> None:
        """Scrape a text of an exporter twice; between the two, so many bytes a second were counted."""
        for at in (0.0, SCRAPE_SECONDS):
            counted = {"out": bytes_out * at, "in_": bytes_in * at, "total": 9 * at, "idle": 0.6 * at}
            filled = text.format(out_rate=bytes_out, in_rate=bytes_in, **counted)
            for family in text_string_to_metric_families(filled):
                for each in family.samples:
                    key = each.name, tuple(sorted({**each.labels, **labels}.items()))
                    self.scraped.setdefault(key, []).append(each.value)

    async def body(self, _: object, query: str) -> bytes:
        """Return the answer to a query."""
        self.queries.append(query)
        data = {"resultType": "vector", "result": self._answer(query)}
        return self.broken or json.dumps({"status": "success", "data": data}).encode()

    def _answer(self, query: str) -> list[dict[str, object]]:
        if match := NAMES.fullmatch(query):
            names = {name for name, _ in self.scraped} & set(match[1].split("|"))
            return [self._row({"__name__": name}, 1) for name in sorted(names)]
        if match := RATE.fullmatch(query):
            return self._rows(match[1], lambda each: bool(each.get("topic")), _rate)
        if match := AVERAGE.fullmatch(query):
            name = match[2]
            return self._rows(match[1], lambda each: name is None or _is(each, name), mean)
        match = IDLE.fullmatch(query)
        assert match is not None, query
        return self._rows(
            match[1],
            lambda each: each["mode"] == "idle" and each["cpu"] == "0",
            lambda values: 1 - _rate(values),
            ("cpu", "mode"),
        )

    def _rows(
        self,
        metric: str,
        wanted: Callable[[dict[str, str]], bool],
        figure: Callable[[list[float]], float],
        without: tuple[str, ...] = (),
    ) -> list[dict[str, object]]:
        rows = []
        for (name, labels), values in self.scraped.items():
            if name == metric and wanted(dict(labels)):
                kept = {label: value for label, value in labels if label not in without}
                rows.append(self._row(kept, figure(values)))
        return rows

    def _row(self, labels: Mapping[str, str], value: float) -> dict[str, object]:
        return {"metric": labels, "value": [self.now, str(value)]}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        target = request.split(" ")[1]
        login = re.search(r"(?im)^authorization: (.*?)\r$", request)
        self.logins.add(login and login[1])
        query = parse_qs(urlsplit(target).query)["query"][0]
        body = await self.body(self.url, query)
        head = b"HTTP/1.1 " + self.status + b"\r\ncontent-type: application/json\r\nconnection: close\r\n"
        writer.write(head + b"content-length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()
        await writer.wait_closed()


def _rate(values: list[float]) -> float:
    return (values[-1] - values[0]) / SCRAPE_SECONDS


def _is(labels: dict[str, str], name: str) -> bool:
    return labels["name"] == name and bool(labels["topic"])


@asynccontextmanager
async def running_prometheus() -> AsyncIterator[FakePrometheus]:
    """Serve until the end of the `async with` statement."""
    fake = FakePrometheus()
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield fake
