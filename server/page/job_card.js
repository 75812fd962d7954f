// A job as a card: how far it is, until when, what its partitions do, and its actions.
"use strict";

import { h, keyed, setAttribute, setButtons, setHidden, setText } from "./dom.js";
import { bytes, clock, count, counted, duration, rate, visible } from "./format.js";
import { actionsOf, badgeOf, by, howFar, kindOf, nounOf, shares } from "./jobs.js";
import { shape } from "./svg.js";
import { restoreText } from "./until.js";

const WIDTH = 1000; // of the bar, in units of its own

const percent = ({ value, total }) => Math.floor((100 * value) / Math.max(1, total));

const TURN = "waits for its turn";

// When the job will have ended, or what is known of that.
// `reasons` are those for which its partitions do not move. Limits and turns are no reason not to know when it ends.
function until({ copied, held, ended_ms: ended }, reasons) {
  if (ended) return `Ended at ${clock(ended)}.`;
  if (held) return `Held: ${held}.`;
  if (!copied) return "";
  const [why] = reasons.filter(({ reason }) => !reason.startsWith("limit ") && reason !== TURN);
  if (copied.seconds_left === null) return why ? `No end is known: ${why.reason}.` : "The time left is not known yet.";
  return `Ends at ${clock(Date.now() + copied.seconds_left * 1000)}, in ${duration(copied.seconds_left)}.`;
}

const copy = ({ copied }) => (copied ? `${bytes(copied.bytes)} of ${bytes(copied.total)} copied, ${rate(copied.rate) || "no rate yet"}` : "");

// The shares of the partitions as one bar.
function drawBar(bar, job, parts) {
  setAttribute(bar, "aria-label", `Job ${job.id}: ${parts.map(([name, number]) => `${count(number)} ${name}`).join(", ")} of ${counted(job.total, nounOf(job))}`);
  let left = 0;
  keyed(bar, parts.map(([name]) => name), () => shape("rect", { y: 0, height: 16 })).forEach((part, place) => {
    const [name, number] = parts[place];
    const width = (WIDTH * number) / Math.max(1, job.total);
    setAttribute(part, "class", `share ${name.replaceAll(" ", "-")}`);
    setAttribute(part, "x", left.toFixed(1));
    setAttribute(part, "width", Math.max(width, 1).toFixed(1));
    left += width;
  });
}

export class JobCard {
  constructor(app, titled = true) {
    this.app = app;
    this.title = h("h3", {}, h("a"), h("small"));
    this.title.hidden = !titled;
    this.small = this.title.lastChild;
    this.badge = h("span");
    this.percent = h("strong", { class: "percent" });
    this.bar = shape("svg", { class: "bar", viewBox: `0 0 ${WIDTH} 16`, preserveAspectRatio: "none", role: "img" });
    this.legend = h("ul", { class: "legend" });
    [this.until, this.copied, this.actions] = [h("p", { class: "until" }), h("p", { class: "copied" }), h("p", { class: "actions" })];
    this.node = h("article", { class: "card job-card" },
      h("div", { class: "job-head" }, this.title, this.badge, this.until, this.percent), this.bar,
      h("div", { class: "job-foot" }, this.legend, this.copied), this.actions);
  }

  update(job, reasons = []) {
    const allPaused = this.app.status.paused;
    const parts = shares(job, allPaused);
    const [text, kind] = badgeOf(job, allPaused);
    setText(this.title.firstChild, `Job ${job.id}`);
    setAttribute(this.title.firstChild, "href", `#/jobs/${job.id}`);
    setText(this.small, ` ${kindOf(job)}, by ${by(job)}`);
    setText(this.badge, text);
    setAttribute(this.badge, "class", `badge ${kind}`);
    setText(this.until, [until(job, reasons), restoreText(this.app.status.restores, job.id)].filter(Boolean).join(" "));
    setText(this.percent, `${percent(howFar(job))}\u00a0%`);
    drawBar(this.bar, job, parts);
    keyed(this.legend, parts.map(([name]) => name), (name) => h("li", { class: `share ${name.replaceAll(" ", "-")}` }))
      .forEach((item, place) => setText(item, visible(`${count(parts[place][1])} ${parts[place][0]}`)));
    setText(this.copied, copy(job));
    setHidden(this.copied, !job.copied);
    setButtons(this.actions, actionsOf(job, this.app));
  }
}
