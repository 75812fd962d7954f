// The partitions of the job in the address: filters, order, and pages.
"use strict";

import { Table, buttons, element, link, progress, setHidden, setText } from "./dom.js";
import { bytes, count, counted, duration, list, rate, time } from "./format.js";
import { howFar, stateOf } from "./jobs.js";
import { reasonTable } from "./overview.js";
import { Rates } from "./rates.js";

const ROWS = 100;
const OLD_MS = 5000; // from this age on, the time at which the partitions were read is shown

const nameOf = (part) => `${part.topic}-${part.partition}`;

const ONGOING = new Set(["moving", "waiting", "queued", "rolling back first"]);

const copied = progress((part) => ({
  value: part.copied ?? 0,
  total: part.bytes || null,
  text: part.bytes ? `${bytes(part.copied ?? 0)} of ${bytes(part.bytes)}` : "",
  label: `${bytes(part.copied ?? 0)} of ${bytes(part.bytes ?? 0)} copied of ${nameOf(part)}`,
}));

function partTable(context, rates) {
  const cancel = (part) => ["Cancel…", `Cancel ${nameOf(part)}`, () => context.run.cancelPartition(part)];
  return new Table("parts", [
    { label: "partition", text: nameOf },
    { label: "state", text: (part) => part.state },
    { label: "replicas", text: (part) => list(part.replicas) },
    { label: "step", text: (part) => list(part.step) },
    { label: "target", text: (part) => list(part.target) },
    { label: "copied", ...copied },
    { label: "rate", number: true, text: (part) => rate(rates.of(nameOf(part))) },
    { label: "from broker", number: true, text: (part) => (part.state === "moving" ? part.leader ?? "none" : "") },
    { label: "reason", wide: true, text: (part) => part.reason },
    { label: "action", ...buttons((part) => (context.mayChange && ONGOING.has(part.state) ? [cancel(part)] : [])) },
  ], nameOf);
}

export class Parts {
  constructor(context) {
    this.context = context;
    this.rates = new Rates();
    this.table = partTable(context, this.rates);
    this.showReasons = reasonTable("job-reasons");
    this.offset = 0;
    this.form = element("filters");
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("input", () => {
      this.offset = 0;
      context.refresh();
    });
    for (const button of element("parts-pages").querySelectorAll("button")) {
      button.addEventListener("click", () => {
        this.offset = Math.max(0, this.offset + Number(button.dataset.step) * ROWS);
        context.refresh();
      });
    }
  }

  // The job whose number is in the address; undefined without one.
  get job() {
    return location.hash.match(/^#job-(\d+)$/)?.[1];
  }

  get query() {
    const given = Object.fromEntries(new FormData(this.form));
    const broker = /^\s*\d{1,9}\s*$/.test(given.broker) ? given.broker.trim() : "";
    return { ...given, broker, descending: given.descending ? "true" : "", offset: this.offset || "", limit: ROWS };
  }

  show({ job, reasons, other_reasons: others, matching, partitions, read_ms: read }) {
    setText(element("job"), job.id);
    const copy = job.copied ? `, ${duration(job.copied.seconds_left) || "unknown time"} left` : "";
    const back = job.rolled_back_by ? `. Rolled back by job ${job.rolled_back_by}` : "";
    setText(element("summary"), `${stateOf(job, this.context.status?.paused)}: ${howFar(job).text}${copy}${back}.`);
    this.showReasons(reasons, others);
    this.rates.add(partitions, nameOf, read);
    this.table.show(partitions);
    const pages = element("parts-pages");
    const [previous, next] = pages.querySelectorAll("button");
    const last = this.offset + partitions.length;
    const age = Date.now() - read > OLD_MS ? `, as of ${time(read)}` : "";
    setText(pages.querySelector("span"), (partitions.length
      ? `${count(this.offset + 1)} to ${count(last)} of ${counted(matching, "partition")}`
      : `No partition matches, of ${counted(job.total, "partition")}`) + age);
    previous.disabled = this.offset === 0;
    next.disabled = last >= matching;
    setHidden(element("parts"), !partitions.length);
  }
}
