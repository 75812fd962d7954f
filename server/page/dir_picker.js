// Chooses log directories of brokers: a tile for each one, by broker, with how full it is.
"use strict";

import { percent } from "./broker_words.js";
import { h, pieces, setHidden, setText } from "./dom.js";
import { bytes } from "./format.js";

const MANY = 24; // directories from which on there is a field to find one

// `3:/data2,4:/data1` as [{ broker, dir }]; a comma within a path is a part of it.
export const readDirs = (text) => (text ? text.split(/,(?=\d+:)/).map((each) => each.match(/^(\d{1,9}):(.+)$/)).filter(Boolean).map(([, broker, dir]) => ({ broker: Number(broker), dir })) : []);

export const dirText = ({ broker, dir }) => `${broker}:${dir}`;

export class DirPicker {
  constructor() {
    this.filter = h("input", { type: "search", autocomplete: "off", placeholder: "Find directories by broker or path", "aria-label": "Find directories by broker or path", oninput: () => this.#filter() });
    this.said = h("p", { class: "soft" });
    this.groups = h("div", { class: "tiles" });
    this.node = h("div", { class: "picker" }, this.filter, this.said, this.groups);
  }

  get chosen() {
    return [...this.groups.querySelectorAll("input:checked")].flatMap(({ value }) => readDirs(value));
  }

  // `brokers` as of /v1/brokers; the directories of `first` are chosen. Those of a broker with only one cannot be emptied.
  show(brokers, first) {
    const chosen = new Set([...first, ...this.chosen].map(dirText));
    const several = brokers.filter((each) => each.log_dirs.length > 1);
    this.groups.replaceChildren(...several.map(({ id, log_dirs: dirs }) =>
      h("div", { class: "rack", role: "group", "aria-label": `Broker ${id}` }, h("h3", {}, `Broker ${id}`), dirs.map((dir) => tile(id, dir, chosen)))));
    setText(this.said, several.length ? "" : "No broker has several log directories, or reports them.");
    setHidden(this.said, several.length);
    setHidden(this.filter, this.groups.querySelectorAll("input").length < MANY);
  }

  #filter() {
    const text = this.filter.value.trim().toLowerCase();
    for (const group of this.groups.children) {
      const tiles = [...group.querySelectorAll(".tile")];
      for (const node of tiles) setHidden(node, !`${group.firstChild.textContent} ${node.textContent}`.toLowerCase().includes(text));
      setHidden(group, tiles.every((node) => node.hidden));
    }
  }
}

function tile(broker, { path, works, total, used, cordoned }, chosen) {
  const value = dirText({ broker, dir: path });
  const full = total === null ? "size not known" : `${percent(used, total)} of ${bytes(total)}`;
  return h("label", { class: works ? "tile" : "tile down" },
    h("span", {}, h("input", { type: "checkbox", name: "dir", value, checked: works && chosen.has(value), disabled: !works }), " ", pieces(path, "/"), cordoned ? " (cordoned)" : ""),
    h("small", {}, works ? full : "failed: replace its replicas instead"));
}
