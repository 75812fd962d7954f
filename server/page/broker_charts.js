// Small charts side by side, one for each of some brokers, with one legend for all.
"use strict";

import { Chart, legend } from "./chart.js";
import { h, keyed, setText } from "./dom.js";

const HEIGHT = 64; // of a plot, in pixels

export class BrokerCharts {
  #charts = new Map(); // { node, words, chart } by the id of the broker, as text

  // `label(id)` names a chart for screen readers, `format(value)` is its unit.
  constructor(id, { label, format }) {
    Object.assign(this, { label, format });
    [this.keys, this.grid] = [h("ul", { class: "keys" }), h("div", { id, class: "broker-charts" })];
    this.nodes = [this.keys, this.grid];
  }

  // `rows` are { id, text, ...data } with the data of a Chart; `note` follows the legend.
  show(rows, note = "") {
    const nodes = keyed(this.grid, rows.map((each) => String(each.id)), (id) => this.#add(id));
    for (const id of [...this.#charts.keys()]) if (!rows.some((each) => String(each.id) === id)) this.#remove(id);
    nodes.forEach(({ dataset }, place) => {
      const { id, text, ...data } = rows[place];
      const { words, chart } = this.#charts.get(dataset.key);
      setText(words, text);
      chart.show(data);
    });
    this.keys.replaceChildren(...(rows.length ? legend(rows[0].series).children : []), ...(note ? [h("li", {}, note)] : []));
  }

  close() {
    for (const id of [...this.#charts.keys()]) this.#remove(id);
  }

  #add(id) {
    const [host, words] = [h("div"), h("span")];
    const node = h("figure", {}, h("figcaption", {}, h("strong", {}, `Broker ${id}`), words), host);
    this.#charts.set(id, { node, words, chart: new Chart(host, { label: this.label(id), format: this.format, height: HEIGHT }) });
    return node;
  }

  #remove(id) {
    this.#charts.get(id).chart.close();
    this.#charts.delete(id);
  }
}
