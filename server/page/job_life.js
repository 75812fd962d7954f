// The life of a job: its throughput as a chart with what happened meanwhile, and that as a list.
"use strict";

import { get } from "./api.js";
import { Chart, legend } from "./chart.js";
import { h, keyed, section, setHidden, setText } from "./dom.js";
import { rate, time } from "./format.js";
import { Reader } from "./reader.js";
import { happenings, lifeOf } from "./timeline.js";

const EVERY_MS = 5000;
const LATEST = 6; // happenings that are shown at once

export class JobLife {
  constructor(number) {
    this.number = number;
    this.happened = [];
    this.whole = false;
    const host = h("div");
    this.keys = h("div");
    this.note = h("p", { class: "note" });
    this.events = h("ol", { class: "events", id: "events" });
    this.all = h("button", { type: "button", hidden: true, onclick: () => this.#show(true) }, "Show all");
    this.node = section("life", "Timeline", host, this.keys, this.note, h("h3", {}, "What happened"), this.events, h("p", {}, this.all));
    this.chart = new Chart(host, { label: `Throughput of job ${number} over time; the arrow keys read it`, format: rate });
    this.reader = new Reader(() => this.#load(), EVERY_MS);
  }

  update(now) {
    return this.reader.read(now);
  }

  close() {
    this.chart.close();
  }

  async #load() {
    const life = await get(`v1/jobs/${this.number}/timeline`);
    const drawn = lifeOf(life, life.total);
    this.chart.show(drawn);
    this.keys.replaceChildren(legend(drawn.series.filter((each) => each.kind !== "said" && each.values.some((value) => value !== null))));
    setText(this.note, `Not known: ${life.incomplete}.`);
    setHidden(this.note, !life.incomplete);
    this.happened = happenings(life);
    this.#show(this.whole);
  }

  #show(whole) {
    this.whole = whole;
    const shown = whole ? this.happened : this.happened.slice(0, LATEST);
    const items = keyed(this.events, shown.map(({ at, text }) => `${at} ${text}`), () => h("li", {}, h("time"), h("span"), h("span", { class: "by" })));
    items.forEach((item, place) => {
      const { at, tone, text, by } = shown[place];
      item.className = tone;
      const [clock, words, person] = item.children;
      setText(clock, time(at));
      setText(words, text);
      setText(person, by);
    });
    setHidden(this.all, shown.length === this.happened.length);
  }
}
