// The search in the header: topics, brokers, jobs and partitions by a part of their name.
"use strict";

import { RequestError, UnreachableError, get } from "./api.js";
import { topicAddress } from "./broker_words.js";
import { element, h, keyed, setAttribute, setHidden, setText } from "./dom.js";

const PAUSE_MS = 150; // between the last key and the search
const SHOWN = 10;

const ADDRESSES = {
  topic: topicAddress,
  partition: (name) => `${topicAddress(name.slice(0, name.lastIndexOf("-")))}/${name.slice(name.lastIndexOf("-") + 1)}`,
  broker: (name) => `#/brokers/${name}`,
  job: (name) => `#/jobs/${name}`,
};

export class Search {
  #hits = [];
  #chosen = -1; // place of the hit that Enter opens
  #timer;
  #turn = 0; // number of the last search: answers of earlier ones are outdated

  // `exists(address)` says whether there is a page; `go(address)` opens it.
  constructor(exists, go) {
    [this.exists, this.go] = [exists, go];
    [this.input, this.list] = [element("search"), element("hits")];
    this.input.addEventListener("input", () => this.#later());
    this.input.addEventListener("focus", () => this.#later());
    this.input.addEventListener("blur", () => this.close());
    this.input.addEventListener("keydown", (event) => this.#key(event));
    // The press of a hit must not take the focus, which closes the list.
    this.list.addEventListener("mousedown", (event) => event.preventDefault());
    element("search-form").addEventListener("submit", (event) => event.preventDefault());
  }

  close() {
    clearTimeout(this.#timer);
    this.#turn += 1;
    this.#show([], "");
  }

  #later() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#find(), PAUSE_MS);
  }

  async #find() {
    const text = this.input.value.trim();
    const turn = (this.#turn += 1);
    if (!text) {
      this.#show([], "");
      return;
    }
    try {
      const { hits, more } = await get("v1/search", { q: text, limit: SHOWN });
      if (turn !== this.#turn) return;
      const found = hits.map((hit) => ({ ...hit, address: ADDRESSES[hit.kind](hit.name) })).filter((hit) => this.exists(hit.address));
      this.#show(found, found.length ? (more ? "There are more: type more letters." : "") : `Nothing is named ${text}.`);
    } catch (error) {
      if (!(error instanceof RequestError) && !(error instanceof UnreachableError)) throw error;
      if (turn === this.#turn) this.#show([], error.message);
    }
  }

  #show(hits, note) {
    [this.#hits, this.#chosen] = [hits, hits.length ? 0 : -1];
    const nodes = keyed(this.list, hits.map(({ kind, name }) => `${kind} ${name}`), () =>
      h("li", { role: "option" }, h("span", { class: "kind" }), h("strong"), h("small")));
    nodes.forEach((node, place) => {
      const { kind, name, text, address } = hits[place];
      node.id = `hit-${place}`;
      [kind, name, text].forEach((words, part) => setText(node.children[part], words));
      node.onclick = () => this.#open(address);
    });
    setText(element("search-note"), note);
    setHidden(element("found"), !hits.length && !note);
    this.#mark();
  }

  #mark() {
    [...this.list.children].forEach((node, place) => setAttribute(node, "aria-selected", String(place === this.#chosen)));
    setAttribute(this.input, "aria-expanded", String(this.#hits.length > 0));
    setAttribute(this.input, "aria-activedescendant", this.#chosen < 0 ? null : `hit-${this.#chosen}`);
  }

  #key(event) {
    const { length } = this.#hits;
    if (event.key === "Escape") {
      this.close();
      this.input.blur();
    } else if (event.key === "Enter" && length) this.#open(this.#hits[this.#chosen].address);
    else if (length && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      this.#chosen = (this.#chosen + (event.key === "ArrowDown" ? 1 : length - 1)) % length;
      this.#mark();
    }
  }

  #open(address) {
    this.input.value = "";
    this.close();
    this.input.blur();
    this.go(address);
  }
}
