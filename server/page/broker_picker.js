// Chooses brokers: a tile for each, by rack, with what it holds.
"use strict";

import { get } from "./api.js";
import { percent } from "./broker_words.js";
import { h, setHidden } from "./dom.js";
import { bytes, count } from "./format.js";

const MOST = 2_000; // brokers that are shown
const MANY = 24; // brokers from which on there is a field to find one

export class BrokerPicker {
  constructor() {
    this.filter = h("input", { type: "search", autocomplete: "off", placeholder: "Find brokers by id or host", "aria-label": "Find brokers by id or host", oninput: () => this.#filterTiles() });
    this.racks = h("div", { id: "brokers", class: "tiles" });
    this.node = h("div", { class: "picker" }, this.filter, this.racks);
  }

  get chosen() {
    return [...this.racks.querySelectorAll("input[name=broker]:checked")].map(({ value }) => Number(value));
  }

  // Reads the brokers, and returns them; those of `first` are chosen.
  async read(first) {
    const { brokers } = await get("v1/brokers", { limit: MOST });
    const chosen = new Set([...first, ...this.chosen]);
    const byRack = new Map();
    for (const broker of brokers) byRack.set(broker.rack, [...(byRack.get(broker.rack) ?? []), broker]);
    this.racks.replaceChildren(...[...byRack].sort(([a], [b]) => String(a ?? "").localeCompare(String(b ?? ""))).map(([rack, own]) =>
      h("div", { class: "rack", role: "group", "aria-label": rack ?? "without a rack" }, h("h3", {}, rack ?? "without a rack"), own.map((broker) => tile(broker, chosen.has(broker.id))))));
    setHidden(this.filter, brokers.length < MANY);
    return brokers;
  }

  #filterTiles() {
    const text = this.filter.value.trim().toLowerCase();
    for (const node of this.racks.querySelectorAll(".tile")) setHidden(node, !node.textContent.toLowerCase().includes(text));
  }
}

function tile(broker, chosen) {
  const { id, live, state, excluded, cordoned, replicas, bytes: size, disk_total: total, disk_used: used } = broker;
  const notes = [live ? "" : state, excluded && "excluded", cordoned && "cordoned"].filter(Boolean).join(", ");
  return h("label", { class: live ? "tile" : "tile down" },
    h("span", {}, h("input", { type: "checkbox", name: "broker", value: id, checked: chosen }), ` ${id}`, notes && ` (${notes})`),
    h("small", {}, `${count(replicas)} replicas, ${bytes(size)}`),
    total === null ? null : h("small", {}, `disk ${percent(used, total)} full`));
}
