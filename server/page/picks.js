// Partitions that are ticked in lists, and what is done with them.
"use strict";

import { h, setHidden, setText } from "./dom.js";
import { planLink } from "./broker_words.js";
import { counted } from "./format.js";
import { content } from "./listing.js";
import { partitionColumns, partitionLink, partitionName } from "./partition_words.js";

const MOST = 1000; // partitions that a proposal takes

function readName(name) {
  const match = name.match(/^(.+)-(\d{1,9})$/);
  return match && { topic: match[1], partition: Number(match[2]) };
}

export class Picks {
  // `names` are those to begin with, `MOST` of them at most. `changed()` is called after each change.
  constructor(names = [], changed = () => {}) {
    this.chosen = new Map(names.slice(0, MOST).map(readName).filter(Boolean).map((each) => [partitionName(each), each]));
    this.changed = changed;
    const [first, ...rest] = partitionColumns;
    this.columns = [{ ...first, ...content((row) => h("span", { class: "pick" }, this.#box(row), partitionLink(row))) }, ...rest];
  }

  get partitions() {
    return [...this.chosen.values()];
  }

  get names() {
    return [...this.chosen.keys()];
  }

  set(partition, chosen) {
    const name = partitionName(partition);
    if (chosen && this.chosen.size < MOST) this.chosen.set(name, partition);
    else this.chosen.delete(name);
    const box = document.querySelector(`[data-pick="${CSS.escape(name)}"]`);
    if (box) box.checked = this.chosen.has(name);
    this.changed();
  }

  remove(name) {
    this.set(this.chosen.get(name), false);
  }

  clear() {
    for (const each of this.partitions) this.set(each, false);
  }

  #box({ topic, partition }) {
    const name = partitionName({ topic, partition });
    const box = h("input", { type: "checkbox", "data-pick": name, "aria-label": `Choose ${name}`, checked: this.chosen.has(name), onchange: () => this.set({ topic, partition }, box.checked) });
    return h("label", { class: "tick" }, box);
  }
}

// What can be done with the chosen partitions, below a list of them: hidden while there are none.
export function pickActions(app) {
  const [said, links] = [h("strong", { role: "status" }), h("span", { class: "actions" })];
  const node = h("div", { class: "picked-bar", hidden: true }, said, links);
  const picks = new Picks([], () => {
    const { names } = picks;
    setHidden(node, !names.length || !app.mayChange);
    setText(said, `${counted(names.length, "partition")} chosen`);
    const query = (goal) => ({ goal, partitions: names.join(",") });
    links.replaceChildren(planLink("Move to other brokers…", query("to"), "primary"), planLink("Change the replication factor…", query("rf")),
      h("button", { type: "button", onclick: () => picks.clear() }, "Choose none"));
  });
  return { node, columns: picks.columns };
}
