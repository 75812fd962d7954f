// Chooses topics: found by a part of their name, or by a regular expression.
"use strict";

import { get } from "./api.js";
import { onlyTopic } from "./broker_words.js";
import { nameChips } from "./build.js";
import { h, setHidden, setText } from "./dom.js";
import { bytes, counted } from "./format.js";

const FOUND = 8; // topics that are offered at once
const PAUSE_MS = 250; // between the last key and the search

export class TopicPicker {
  constructor() {
    this.chosen = new Set();
    this.chips = nameChips("Chosen topics", (topic) => this.#remove(topic), () => this.search);
    this.search = h("input", { type: "search", autocomplete: "off", spellcheck: "false", placeholder: "Find topics by name", "aria-label": "Find topics by name" });
    this.found = h("ul", { class: "found", "aria-label": "Topics that match" });
    this.said = h("p", { class: "soft", role: "status" });
    this.pattern = h("input", { name: "topics", autocomplete: "off", spellcheck: "false", placeholder: "orders.*" });
    this.node = h("div", { class: "picker" }, this.chips.node, this.search, this.found, this.said, h("p", {}, h("label", {}, "or all that match the expression ", this.pattern)));
    let timer;
    this.search.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.find(), PAUSE_MS);
    });
    this.search.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.found.querySelector("input:not(:checked)")?.click();
    });
    this.pattern.addEventListener("input", () => setHidden(this.chips.node, this.pattern.value.trim() !== ""));
  }

  // The regular expression of the chosen topics; empty if none is chosen.
  get expression() {
    return this.pattern.value.trim() || [...this.chosen].map(onlyTopic).join("|");
  }

  // Begins with the topics of an expression: names if it is nothing else.
  set expression(text) {
    const names = text.split("|").map((each) => each.replaceAll("\\.", "."));
    if (names.every((name) => /^[\w.-]+$/.test(name)) && names.map(onlyTopic).join("|") === text) names.forEach((name) => this.#choose(name, true));
    else this.pattern.value = text;
  }

  async find() {
    const q = this.search.value.trim();
    const { topics, total } = await get("v1/topics", { q, limit: FOUND });
    if (q !== this.search.value.trim()) return;
    setText(this.said, total > topics.length ? `${counted(total, "topic")} match; the first ${topics.length} are shown.` : topics.length ? "" : "No topic matches.");
    this.found.replaceChildren(...topics.map(({ topic, partitions, replica_bytes: size }) => {
      const box = h("input", { type: "checkbox", checked: this.chosen.has(topic), onchange: () => this.#choose(topic, box.checked) });
      return h("li", {}, h("label", {}, box, ` ${topic} `, h("small", {}, `${counted(partitions, "partition")}, ${bytes(size)}`)));
    }));
  }

  #choose(topic, chosen) {
    if (chosen) this.chosen.add(topic);
    else this.chosen.delete(topic);
    this.chips.show([...this.chosen]);
  }

  #remove(topic) {
    this.#choose(topic, false);
    return this.find();
  }
}
