// A job: how far it is, why partitions do not move, and the partitions.
"use strict";

import { RequestError, get } from "../api.js";
import { crumbs } from "../build.js";
import { h, section, setHidden, setText } from "../dom.js";
import { capital, duration } from "../format.js";
import { JobCard } from "../job_card.js";
import { JobFiles } from "../job_files.js";
import { JobLife } from "../job_life.js";
import { Parts } from "../job_parts.js";
import { by, howFar, kindOf, nounOf, stateOf } from "../jobs.js";
import { Reader } from "../reader.js";
import { reasonTable } from "../reasons.js";
import { Strip } from "../strip.js";

const DETAIL_MS = 4000; // time between two reads of the partitions that are listed: how far the job is comes with the status
const LONGEST_MS = 10_000; // between two reads of them, however long a read takes
const STRIP_MS = 4000; // time between two reads of the states of all partitions,
const STRIP_MS_EACH = 0.5; // and for each of them: the server visits all

function summary(job, allPaused) {
  const copy = job.copied ? `, ${duration(job.copied.seconds_left) || "unknown time"} left` : "";
  const far = job.ended_ms ? "" : `: ${howFar(job).text}`; // Its endings are in its state.
  const back = job.rolled_back_by ? `. Rolled back by job ${job.rolled_back_by}` : "";
  return `${capital(kindOf(job))}, by ${by(job)}. ${capital(stateOf(job, allPaused))}${far}${copy}${back}.`;
}

// The job may have been deleted.
function missing(error) {
  if (error instanceof RequestError && error.status === 404) return null;
  throw error;
}

class JobPage {
  constructor(root, number, app) {
    [this.number, this.app] = [number, app];
    this.shown = null; // the job, once it was read
    [this.value, this.looks] = [null, ""]; // what was read last, and what it depends on
    this.parts = new Parts(app);
    this.card = new JobCard(app, false);
    this.reasons = reasonTable("job-reasons", "Why partitions of this job do not move");
    this.summary = h("p", { id: "summary" });
    this.gone = h("p", { id: "gone", hidden: true }, `There is no job ${number}. It may have been deleted.`);
    [this.life, this.files] = [new JobLife(number), new JobFiles(number, app)];
    const strip = h("div", { id: "strip" });
    this.listed = section("partitions", "Partitions", strip, ...this.parts.nodes);
    this.detail = h("div", { id: "detail", hidden: true },
      this.card.node, h("section", { class: "card", "aria-label": "Summary" }, this.summary, this.reasons.node),
      this.life.node, this.listed, this.files.node);
    this.strip = new Strip(strip, { choose: ({ topic }) => this.parts.choose(topic) });
    this.detailReader = new Reader(() => this.#loadDetail(), DETAIL_MS, LONGEST_MS);
    this.stripReader = new Reader(() => this.#loadStrip(), STRIP_MS);
    root.append(crumbs([["Jobs", "#/jobs"]], number), h("h1", { id: "detail-title", tabindex: "-1" }, `Job ${number}`), this.gone, this.detail);
  }

  async #loadStrip() {
    const data = await get(`v1/jobs/${this.number}/strip`);
    this.strip.show(data);
    return data.total * STRIP_MS_EACH;
  }

  async #loadDetail() {
    this.value = await get(`v1/jobs/${this.number}`, this.parts.query).catch(missing);
    if (this.value) this.value.read_ms = Date.now();
  }

  // The partitions, which take as long to draw as all above them: at first in a task of their own.
  #showParts(shown) {
    const isFirst = !this.shown;
    this.shown = shown;
    if (isFirst) requestAnimationFrame(() => setTimeout(() => this.parts.show(this.shown)));
    else this.parts.show(shown);
  }

  // The partitions are read less often than the rest, unless the user acts, or the job is paused, resumed or has ended.
  async update({ status, paced }) {
    const open = status.jobs.find(({ id }) => id === Number(this.number));
    const looks = JSON.stringify([this.parts.query, open?.state]);
    const changed = !paced || looks !== this.looks;
    this.looks = looks;
    await Promise.all([this.detailReader.read(changed), this.life.update(!paced).catch(missing), this.stripReader.read(!paced).catch(missing)]);
    const { value } = this;
    setHidden(this.gone, Boolean(value));
    setHidden(this.detail, !value);
    if (!value) return;
    // The status may be newer than the partitions: all parts of the page show the same numbers.
    const job = open ?? value.job;
    this.card.update(job, value.reasons);
    this.files.update(job);
    setText(this.summary, summary(job, status.paused));
    this.reasons.show(value.reasons, value.other_reasons);
    const what = `${capital(nounOf(job))}s`;
    setText(this.listed.firstChild, what);
    this.strip.name(`${what} of job ${this.number} in the order of their names; Enter shows those of a topic`);
    this.#showParts({ ...value, job });
  }

  close() {
    this.life.close();
    this.strip.close();
  }
}

export const page = { title: ({ job }) => `Job ${job}`, open: (root, { job }, app) => new JobPage(root, job, app) };
